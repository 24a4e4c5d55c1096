import { createHash, hash as hashOf, type Hash } from 'node:crypto';
import type { FilePacket, FileTransfer, SentStat } from '../../../api/types/build/session.ts';
import { showName } from '../../../storage/tar/names.ts';
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
  /** So many files were asked for until now. */
  asked: (files: number) => void;
}

const NANOS = 1_000_000_000n;
/** About as many bytes a packet has besides its content. */
const PACKET_BYTES = 8;
const NOTHING = Buffer.alloc(0);

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
  let asked = 0;
  for await (const packets of transfer.packets) {
    for (const packet of packets) {
      receiver.take(packet);
    }
    options.came(receiver.came());
    const wanted = receiver.wanted();
    if (wanted.length > 0) {
      asked += wanted.length;
      options.asked(asked);
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

interface Incoming {
  stat: SentStat;
  offset: number;
  /** What came so far. */
  size: number;
  /** Of content that came in several packets. */
  hash: Hash | undefined;
  /** Of content that came in one. */
  digest: string;
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
  #came = 0;
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

  /** Bytes since the last time. */
  came(): number {
    const bytes = this.#came;
    this.#came = 0;
    return bytes;
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

  #stat(stat: SentStat): void {
    if (this.#state !== 'listing') {
      throw invalidArgument(`the client's files: ${showName(stat.path)} comes after the end of the list`);
    }
    this.#list.add(stat);
    const id = this.#count;
    this.#count += 1;
    this.#came += PACKET_BYTES + stat.path.length;
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
    this.#incoming.set(id, { stat, offset, size: 0, hash: undefined, digest: '' });
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
    this.#came += PACKET_BYTES + bytes.length;
    if (bytes.length === 0) {
      this.#incoming.delete(id);
      this.#received(file);
      return;
    }
    // A file that grows while it is sent is taken as the list has it.
    const part = bytes.subarray(0, Math.max(0, file.stat.size - file.size));
    if (part.length > 0) {
      hashPart(file, part);
      this.#spool.put(file.offset + file.size, part);
    }
    file.size += bytes.length;
  }

  #received(file: Incoming): void {
    const { stat, offset, size } = file;
    if (size === 0 && stat.size > 0) {
      // The client sends nothing, and no error, of a file that it cannot open.
      throw invalidArgument(
        `the client's files: ${showName(stat.path)} could not be read, or was changed while it was sent`,
      );
    }
    this.#put(stat, offset, digestOf(file), size);
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
        const member = { ...target.entry.member, sharedWith: stat.linkName };
        this.files.set(stat.linkName, { ...target, entry: { ...target.entry, member } });
        this.files.set(stat.path, { ...target, stat, entry: { ...target.entry, path: stat.path, member } });
      }
    }
  }

  #put(stat: SentStat, offset: number, digest: string, came = 0): void {
    const size = Math.min(came, stat.size);
    const entry = { path: stat.path, digest, member: memberOf(stat, { offset, size }) };
    this.files.set(stat.path, { stat, entry, hasChanged: came !== stat.size && stat.type === 'file' });
  }
}

/** Most files come whole: no state is kept for them. */
function hashPart(file: Incoming, part: Buffer): void {
  if (part.length === file.stat.size) {
    file.digest = hashOf('sha256', part);
    return;
  }
  file.hash ??= createHash('sha256');
  file.hash.update(part);
}

function digestOf({ digest, hash }: Incoming): string {
  return hash?.digest('hex') ?? (digest || hashOf('sha256', NOTHING));
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
    isSameDevice(a, b) &&
    a.attributes.size === b.attributes.size &&
    [...a.attributes].every(([name, value]) => b.attributes.get(name)?.equals(value) === true)
  );
}

function isSameDevice({ device: a }: SentStat, { device: b }: SentStat): boolean {
  return a?.kind === b?.kind && a?.major === b?.major && a?.minor === b?.minor;
}

/**
 * Without capabilities: BuildKit sets the owner after them, by which they are lost. All its fields stand here, as an
 * object that is put together of others takes longer, and there is one for each file.
 */
function memberOf(
  stat: SentStat,
  { offset, size }: { offset: number; size: number },
): ContextEntry['member'] {
  const { device, attributes } = stat;
  const seconds = Number(stat.mtime >= 0n ? stat.mtime / NANOS : (stat.mtime - NANOS + 1n) / NANOS);
  return {
    name: stat.path,
    type: stat.type === 'device' ? (device?.kind ?? 'character') : stat.type,
    linkName: stat.type === 'symlink' ? stat.linkName : '',
    size,
    mode: stat.mode,
    uid: stat.uid,
    gid: stat.gid,
    mtime: { seconds, nanoseconds: Number(stat.mtime - BigInt(seconds) * NANOS) },
    major: device?.major ?? 0,
    minor: device?.minor ?? 0,
    attributes:
      attributes.size === 0
        ? attributes
        : new Map([...attributes].filter(([name]) => name !== 'security.capability')),
    offset,
  };
}
