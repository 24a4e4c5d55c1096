import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { errnoOf } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import type { SwarmJoinRequest } from '../../api/types/swarm/swarm.ts';
import type { ManagerAddress } from '../protocol/session.ts';
import type { MemberSettings } from '../store/etcd-process/settings.ts';

/** `node.json`: what a node is to its swarm, with what it needs to be that again after a restart. */
export interface NodeFile {
  /** `''` while the node joins. */
  node: string;
  cluster: string;
  /** `HOST:PORT`. */
  listenAddr: string;
  /** `HOST:PORT` under which others reach it; `''` where they know it by where its calls come from. */
  advertiseAddr: string;
  dataPathAddr: string;
  /** The user named this interface instead of an address: the node follows where it gets another one. */
  dataPathLink?: string;
  /** The user named no address: where the host gets another one, the node follows. */
  followsHost?: boolean;
  /** As last told. */
  managers: ManagerAddress[];
  /** A join that has not come about yet. */
  joining?: Pick<SwarmJoinRequest, 'JoinToken' | 'RemoteAddrs' | 'Availability'>;
  /** Of managers: their member of the store. */
  member?: StoredMember;
  /** Nothing of it counts: a swarm that is not in its store yet, or one that the node is about to leave. */
  isVoid?: boolean;
  /** The member is to start with `--force-new-cluster`, and the other managers are to be none any more. */
  isForced?: boolean;
}

/** The member of the store on this node, as it was first started. */
export type StoredMember = Pick<MemberSettings, 'peerUrl' | 'listenPeerUrl' | 'raft' | 'cluster'> & {
  /** As the other members know it; undefined for the swarm's first one. */
  id?: string;
  /** Its data is there: a member that has lost it must not come back as itself. */
  isBegun: boolean;
};

/**
 * Files of a node: `node.json`, `ca.pem` (what is trusted), `node.pem` (certificate, key and, on managers, the keys of
 * the store: one file, as they change together) and `etcd/`. Each is replaced whole and on disk before it counts.
 */
export class NodeFiles {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  get storeDirectory(): string {
    return path.join(this.#directory, 'etcd');
  }

  /** Undefined where this node belongs to no swarm. */
  async readNode(): Promise<NodeFile | undefined> {
    const text = await this.#read('node.json');
    // Only `writeNode` has written it.
    return text === undefined ? undefined : (JSON.parse(text) as NodeFile);
  }

  async writeNode(file: NodeFile): Promise<void> {
    await this.#write('node.json', JSON.stringify(file, undefined, 2));
    failpoint('swarm.membership.node-written');
  }

  /** Certificate and key; undefined where it never had any. */
  readKeys(): Promise<string | undefined> {
    return this.#read('node.pem');
  }

  async writeKeys(text: string): Promise<void> {
    await this.#write('node.pem', text);
    failpoint('swarm.membership.keys-written');
  }

  readRoots(): Promise<string | undefined> {
    return this.#read('ca.pem');
  }

  async writeRoots(pem: string): Promise<void> {
    await this.#write('ca.pem', pem);
    failpoint('swarm.membership.roots-written');
  }

  async wipeStore(): Promise<void> {
    await rm(this.storeDirectory, { recursive: true, force: true });
  }

  /** The node belongs to no swarm any more: `node.json` first, as it is what the next start asks. */
  async wipe(): Promise<void> {
    await rm(path.join(this.#directory, 'node.json'), { force: true });
    failpoint('swarm.membership.node-wiped');
    for (const name of ['node.pem', 'ca.pem', 'etcd']) {
      await rm(path.join(this.#directory, name), { recursive: true, force: true });
    }
  }

  async #read(name: string): Promise<string | undefined> {
    try {
      return await readFile(path.join(this.#directory, name), 'utf8');
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return undefined;
      }
      throw error;
    }
  }

  async #write(name: string, text: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const target = path.join(this.#directory, name);
    const file = await open(`${target}.new`, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${target}.new`, target);
    const directory = await open(this.#directory, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }
}
