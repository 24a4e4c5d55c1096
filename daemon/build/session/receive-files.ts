import { createHash, type Hash } from 'node:crypto';
import type { FilePacket, FileTransfer, SentStat } from '../../../api/types/build/session.ts';
import { showName } from '../../../storage/tar/names.ts';
import { plainMember } from '../../../storage/tar/plain-member.ts';
import { invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { ContextEntry } from '../../../storage/contexts/entries.ts';
import type { ContextSpool } from '../ports.ts';
import { StatList } from './stat-list.ts';

/** A file of a client as it was sent last: what the client said of it, and what came. */
export interface SentFile {
  stat: SentStat;
  entry: ContextEntry;
  /** What came is not what the client had said: it is asked for again next time. */
  hasChanged: boolean;
}

/** By path. */
export type SentFiles = ReadonlyMap<string, SentFile>;

export interface ReceiveOptions {
  /** What was sent the last time into the same spool. */
  before: SentFiles;
  /** Bytes of packets that came. */
  came: (bytes: number) => void;
}

const NANOS = 1_000_000_000n;
/** About as many bytes a packet has besides its content. */
const PACKET_BYTES = 8;

/**
 * Receives a directory into a spool: the list, and of its files those that are not in the spool as the list has them.
 * Nothing is made of the names: the spool is the only file. Throws invalid_argument for a list that is none, and for
 * content that was not asked for.
 */
export async function receiveFiles(
  transfer: FileTransfer,
  spool: ContextSpool,
  options: ReceiveOptions,
): Promise<SentFiles> {
  const receiver = new Receiver(spool, options);
  for await (const packets of transfer.packets) {
    for (const packet of packets) {
      receiver.take(packet);
    }
    const wanted = receiver.wanted();
    if (wanted.length > 0) {
      await transfer.request(wanted);
    }
    if (spool.isFull) {
      await spool.flush();
    }
    if (receiver.isComplete()) {
      await transfer.finish();
    }
  }
  receiver.end();
  failpoint('build.session.files');
  await spool.flush();
  return receiver.files;
}

/** A device is refused. */
type KeptStat = SentStat & { type: Exclude<SentStat['type'], 'device'> };

interface Incoming {
  stat: KeptStat;
  offset: number;
  /** What came so far. */
  size: number;
  hash: Hash;
}

class Receiver {
  readonly files = new Map<string, SentFile>();
  readonly #spool: ContextSpool;
  readonly #options: ReceiveOptions;
  readonly #list = new StatList();
  readonly #incoming = new Map<number, Incoming>();
  readonly #regular = new Set<string>();
  readonly #links: SentStat[] = [];
  #wanted: number[] = [];
  #count = 0;
  #state: 'listing' | 'receiving' | 'finishing' | 'finished' = 'listing';

  constructor(spool: ContextSpool, options: ReceiveOptions) {
    this.#spool = spool;
    this.#options = options;
  }

  take(packet: FilePacket): void {
    switch (packet.kind) {
      case 'stat':
        this.#stat(packet.stat);
        break;
      case 'listed':
        this.#listed();
        break;
      case 'data':
        this.#data(packet.id, packet.bytes);
        break;
      case 'finished':
        if (this.#state !== 'finishing') {
          throw invalidArgument("the client's files: it ended before all of them had come");
        }
        this.#state = 'finished';
        break;
    }
  }

  /** Numbers of the files to ask for, each once. */
  wanted(): number[] {
    const wanted = this.#wanted;
    this.#wanted = [];
    return wanted;
  }

  /** True once, when all that was asked for has come. */
  isComplete(): boolean {
    if (this.#state !== 'receiving' || this.#incoming.size > 0) {
      return false;
    }
    this.#state = 'finishing';
    return true;
  }

  end(): void {
    if (this.#state !== 'finished') {
      throw invalidArgument("the client's files: the client ended before all of them had come");
    }
    this.#resolveLinks();
  }

  #stat(said: SentStat): void {
    if (this.#state !== 'listing') {
      throw invalidArgument(`the client's files: ${showName(said.path)} comes after the end of the list`);
    }
    this.#list.add(said);
    const id = this.#count;
    this.#count += 1;
    this.#options.came(PACKET_BYTES + said.path.length);
    if (said.type === 'device') {
      throw invalidArgument(`the client's files: ${showName(said.path)} is a device`);
    }
    const stat: KeptStat = { ...said, type: said.type };
    if (stat.type !== 'file') {
      this.#put(stat, 0, '');
      return;
    }
    if (stat.linkName !== '') {
      this.#link(stat);
      return;
    }
    this.#regular.add(stat.path);
    const before = this.#options.before.get(stat.path);
    if (before !== undefined && !before.hasChanged && isSame(before.stat, stat)) {
      this.files.set(stat.path, before);
      return;
    }
    const offset = this.#spool.reserve(stat.size);
    this.#incoming.set(id, { stat, offset, size: 0, hash: createHash('sha256') });
    this.#wanted.push(id);
  }

  #listed(): void {
    if (this.#state !== 'listing') {
      throw invalidArgument("the client's files: the list ends twice");
    }
    this.#state = 'receiving';
  }

  #data(id: number, bytes: Buffer): void {
    const file = this.#incoming.get(id);
    if (file === undefined) {
      throw invalidArgument(`the client's files: content of number ${id}, which was not asked for`);
    }
    this.#options.came(PACKET_BYTES + bytes.length);
    if (bytes.length === 0) {
      this.#incoming.delete(id);
      this.#received(file);
      return;
    }
    // A file that grows while it is sent is taken as the list has it.
    const part = bytes.subarray(0, Math.max(0, file.stat.size - file.size));
    if (part.length > 0) {
      file.hash.update(part);
      this.#spool.put(file.offset + file.size, part);
    }
    file.size += bytes.length;
  }

  #received({ stat, offset, size, hash }: Incoming): void {
    if (size === 0 && stat.size > 0) {
      // The client sends nothing, and no error, of a file that it cannot open.
      throw invalidArgument(
        `the client's files: ${showName(stat.path)} could not be read, or was changed while it was sent`,
      );
    }
    this.#put(stat, offset, hash.digest('hex'), size);
  }

  /** A further name of a file before it, whose content may still be on its way. */
  #link(stat: SentStat): void {
    if (!this.#regular.has(stat.linkName)) {
      throw invalidArgument(
        `the client's files: ${showName(stat.path)} is another name of ${showName(stat.linkName)}, ` +
          'which is no file before it',
      );
    }
    this.#links.push(stat);
  }

  #resolveLinks(): void {
    for (const stat of this.#links) {
      const target = this.files.get(stat.linkName);
      if (target !== undefined) {
        this.files.set(stat.path, { ...target, stat, entry: { ...target.entry, path: stat.path } });
      }
    }
  }

  #put(stat: KeptStat, offset: number, digest: string, came = 0): void {
    const size = Math.min(came, stat.size);
    const entry = { path: stat.path, digest, member: memberOf(stat, { offset, size }) };
    this.files.set(stat.path, { stat, entry, hasChanged: came !== stat.size && stat.type === 'file' });
  }
}

/** As BuildKit compares, and attributes besides: they are what a file may do. */
function isSame(a: SentStat, b: SentStat): boolean {
  return (
    a.type === b.type &&
    a.size === b.size &&
    a.mtime === b.mtime &&
    a.mode === b.mode &&
    a.uid === b.uid &&
    a.gid === b.gid &&
    a.linkName === b.linkName &&
    a.attributes.size === b.attributes.size &&
    [...a.attributes].every(([name, value]) => b.attributes.get(name)?.equals(value) === true)
  );
}

function memberOf(stat: KeptStat, content: { offset: number; size: number }): ContextEntry['member'] {
  const seconds = stat.mtime >= 0n ? stat.mtime / NANOS : (stat.mtime - NANOS + 1n) / NANOS;
  return {
    ...plainMember(stat.path, { type: 'file', mode: stat.mode, mtimeSeconds: Number(seconds) }),
    ...content,
    type: stat.type,
    linkName: stat.type === 'symlink' ? stat.linkName : '',
    uid: stat.uid,
    gid: stat.gid,
    mtime: { seconds: Number(seconds), nanoseconds: Number(stat.mtime - seconds * NANOS) },
    attributes: stat.attributes,
  };
}
