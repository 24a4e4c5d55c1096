import { createHash } from 'node:crypto';
import type { Offered } from './port.ts';

/** What another manager says of a blob; `away`: it does not answer yet, `lost`: it has not for long. */
export interface PeerWord {
  host: string;
  said: Offered | 'away' | 'lost';
}

interface Asked {
  /** This manager, which holds the blob. */
  self: string;
  /** The id of a repository that has it. */
  repository: number;
  /** As the setting says; 0 = none is set. */
  replicas: number;
  others: readonly PeerWord[];
}

export interface Repair {
  /** Managers that this one gives the blob to. */
  give: string[];
  /** Too few hold it, and that may be another one's to mend, or be so only for a moment: look again. */
  isOpen: boolean;
}

/** Nobody waits for a repair: a second copy is made where there are two managers, too. */
const COPIES = 2;

/**
 * Who gets a blob that too few managers hold, from this one. The first of those that hold it gives it, to the first of
 * those that a push of the repository goes to. Who is away may come back with its copy: until it is lost, that counts.
 * Pure.
 */
export function repairOf({ self, repository, replicas, others }: Asked): Repair {
  const hostsThat = (...words: PeerWord['said'][]): string[] =>
    others.filter(({ said }) => words.includes(said)).map(({ host }) => host);
  const held = [self, ...hostsThat('held')];
  const wanted = replicas > 0 ? replicas : COPIES;
  const missing = wanted - held.length - hostsThat('away').length;
  const isMine = inOrder(repository, held)[0] === self;
  const give = isMine && missing > 0 ? inOrder(repository, hostsThat('wanted')).slice(0, missing) : [];
  const isFull = held.length + give.length >= wanted;
  const mayChange = hostsThat('away', 'unwanted', ...(isMine ? [] : (['wanted'] as const))).length > 0;
  return { give, isOpen: !isFull && mayChange };
}

/** Managers in the order in which they get what a repository has: each has one of its own. Pure. */
export function inOrder(repository: number, hosts: readonly string[]): string[] {
  const ranked = hosts.map((host) => ({
    host,
    at: createHash('sha256').update(`${repository} ${host}`).digest('hex'),
  }));
  return ranked.toSorted((one, other) => (one.at < other.at ? -1 : 1)).map(({ host }) => host);
}
