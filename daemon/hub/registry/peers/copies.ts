import { Readable } from 'node:stream';
import type { RegistryBlob } from '../../../../api/types/hub/registry.ts';
import type { Clock } from '../../../base/clock.ts';
import { EngineError, errorText, internal } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import { refusal } from '../refusal.ts';
import type { BlobPeers } from './port.ts';
import { inOrder } from './repair.ts';

interface Blob {
  digest: string;
  /** Bytes. */
  size: number;
}

interface Deps {
  clock: Clock;
  log: Logger;
  /** Undefined = there are none. */
  peers: BlobPeers | undefined;
  /** How many managers are to hold what is pushed; 0 = two where there are three or more, else one. */
  replicas?: number;
  /** Whether this host holds it; where it does not, gets it from another one. */
  holds: (blob: Blob) => Promise<boolean>;
  open: (digest: string) => Promise<RegistryBlob | undefined>;
}

/** From so many managers on two of them hold what is pushed, where nothing else is set. */
const MANAGERS_FOR_TWO = 3;

/**
 * Has other managers hold what is pushed, so that it is not lost with one host. Images of a repository go to the same
 * managers, which have most of their layers.
 */
export class Copies implements Disposable {
  readonly #deps: Deps;
  readonly #stop = new AbortController();
  /** When a manager did not take a blob: others are asked first for a while. */
  readonly #failedMs = new Map<string, number>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Resolves when as many managers hold all of these blobs as have to, this one among them. Throws UNAVAILABLE where
   * too few can: what some of them have got they keep for a while.
   */
  async hold(repository: number, blobs: readonly Blob[]): Promise<void> {
    const { peers } = this.#deps;
    const waiting = this.#inOrder(repository);
    const all = 1 + waiting.length;
    if (peers === undefined || this.#wanted(all) === 1) {
      return;
    }
    const own = await Promise.all(blobs.map((blob) => this.#deps.holds(blob)));
    let [held, withoutHub] = [own.includes(false) ? 0 : 1, 0];
    const troubles = held === 0 ? ['this one lacks some of it'] : [];
    for (;;) {
      const wanted = this.#wanted(all - withoutHub);
      if (held >= wanted) {
        return;
      }
      const asked = waiting.splice(0, wanted - held);
      if (asked.length === 0) {
        throw tooFew({ held, wanted, troubles });
      }
      for (const answer of await Promise.all(asked.map((host) => this.#holdAt(peers, host, blobs)))) {
        held += answer.kind === 'held' ? 1 : 0;
        withoutHub += answer.kind === 'no-hub' ? 1 : 0;
        troubles.push(...(answer.kind === 'failed' ? [answer.why] : []));
      }
    }
  }

  /** Begins to have a blob held elsewhere, so that the manifest that will name it waits less. */
  begin(repository: number, blob: Blob): void {
    void this.hold(repository, [blob]).catch((error: unknown) => {
      this.#deps.log.debug(
        { digest: blob.digest, reason: errorText(error) },
        'a blob is on this manager alone',
      );
    });
  }

  [Symbol.dispose](): void {
    this.#stop.abort(internal('the hub ends'));
  }

  #wanted(managers: number): number {
    const { replicas = 0 } = this.#deps;
    return replicas > 0 ? replicas : managers >= MANAGERS_FOR_TWO ? 2 : 1;
  }

  async #holdAt(
    peers: BlobPeers,
    host: string,
    blobs: readonly Blob[],
  ): Promise<{ kind: 'held' | 'no-hub' } | { kind: 'failed'; why: string }> {
    try {
      for (const blob of blobs) {
        if (!(await this.#give(peers, host, blob))) {
          return { kind: 'no-hub' };
        }
      }
      this.#failedMs.delete(host);
      return { kind: 'held' };
    } catch (error) {
      this.#failedMs.set(host, this.#deps.clock.monotonicMs());
      return { kind: 'failed', why: `manager ${host}: ${errorText(error)}` };
    }
  }

  /** False = that host has no hub. */
  async #give(peers: BlobPeers, host: string, blob: Blob): Promise<boolean> {
    const { signal } = this.#stop;
    const offer = { digest: blob.digest, size: blob.size, isPush: true };
    failpoint('hub.copies.offer');
    const answer = await peers.offer(host, offer, signal);
    if (answer !== 'wanted') {
      return answer !== 'no-hub';
    }
    await using own = await this.#deps.open(blob.digest);
    if (own === undefined) {
      throw new EngineError('unavailable', `nobody holds ${blob.digest}`);
    }
    failpoint('hub.copies.give');
    await peers.give(host, offer, bytesOf(own), signal);
    return true;
  }

  /** The same for each push of a repository; those that failed lately last. */
  #inOrder(repository: number): string[] {
    const since = this.#deps.clock.monotonicMs() - limits.hubPeerFailedMs;
    const failed = (host: string): boolean => (this.#failedMs.get(host) ?? -Infinity) > since;
    const ranked = inOrder(repository, this.#deps.peers?.others() ?? []);
    return [...ranked.filter((host) => !failed(host)), ...ranked.filter(failed)];
  }
}

/** A blob without bytes has no first one. */
export function bytesOf(blob: RegistryBlob): Readable {
  return blob.size === 0 ? Readable.from([]) : blob.stream(0, blob.size - 1);
}

function tooFew({ held, wanted, troubles }: { held: number; wanted: number; troubles: string[] }): Error {
  const why = troubles.length === 0 ? 'there are no others' : troubles.join('; ');
  return refusal(
    'UNAVAILABLE',
    `${held} of ${wanted} managers hold what was pushed (hub.replicas), push again when more can: ${why}`,
  );
}
