import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pause } from '../../../daemon/base/concurrency/pause.ts';
import { EngineError, errorText, invariant } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { Rollback } from '../../../daemon/base/rollback.ts';
import { Cluster } from '../../cluster/cluster.ts';
import { isStoreError } from '../../store/errors.ts';
import type { Keyring } from '../../store/sealed.ts';
import type { Write } from '../../store/port.ts';
import type { ManagerPart } from '../ports.ts';
import type { DataKeys } from '../keys/data-keys.ts';
import { openKeys } from '../keys/open-keys.ts';
import type { BlockedNodes } from './blocked-nodes.ts';
import { takeOver } from './force-new-cluster.ts';
import type { Issuing } from './issuing.ts';
import { joinStore, promoteSelf } from './join-store.ts';
import { openParts, type ManagerLifeDeps, type Opened } from './open-parts.ts';
import { nowMs } from './authority.ts';
import { SealedValues } from './sealed-values.ts';
import { newStoreIdentity } from './store-identity.ts';
import { StoreMember } from './store-member.ts';

const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 8_000;

/** A node as a manager: its member of the store, what membership does with it, and the parts that build on these. */
export class ManagerLife<P extends ManagerPart> {
  readonly #deps: ManagerLifeDeps<P>;
  readonly #closed = new AbortController();
  readonly #running: Promise<void>;
  readonly #end: Rollback;
  #member: StoreMember | undefined;
  #opened: Opened<P> | undefined;
  #blocked: BlockedNodes | undefined;
  #trouble = '';
  readonly #ready: { promise: Promise<P>; resolve: (parts: P) => void };

  /** `first`: what a new swarm begins with. */
  constructor(deps: ManagerLifeDeps<P>, first?: readonly Write[]) {
    this.#deps = deps;
    this.#end = new Rollback(deps.logger);
    let resolve!: (parts: P) => void;
    const promise = new Promise<P>((done) => {
      resolve = done;
    });
    this.#ready = { promise, resolve };
    this.#running = this.#run(first);
  }

  /** Undefined while the manager is prepared. */
  get parts(): P | undefined {
    return this.#opened?.parts;
  }

  get issuing(): Issuing | undefined {
    return this.#opened?.issuing;
  }

  get table(): Opened<P>['table'] | undefined {
    return this.#opened?.table;
  }

  get blocked(): ReadonlyMap<string, number> {
    return this.#blocked?.all ?? new Map();
  }

  /** False for a node that the store knows as a worker. */
  isManager(node: string): boolean {
    return this.#opened?.isManager(node) ?? true;
  }

  /** Why it is not ready; `''` where nothing went wrong. */
  get trouble(): string {
    const ended = this.#opened === undefined ? (this.#member?.lastWords ?? '') : '';
    return [this.#trouble, ended].filter((text) => text !== '').join(': ');
  }

  get ready(): Promise<P> {
    return this.#ready.promise;
  }

  get members(): StoreMember['members'] | undefined {
    return this.#member?.members;
  }

  /** Deletes what this manager has made known of itself. */
  async forget(keys: readonly string[]): Promise<void> {
    const values = keys.map((key) => ({ kind: 'delete' as const, key }));
    await this.#member?.store.commit({ conditions: [], writes: values });
  }

  /** `wipe`: this node is no manager any more. Otherwise its member of the store runs on. */
  async stop({ wipe }: { wipe: boolean }): Promise<void> {
    this.#closed.abort();
    await this.#end[Symbol.asyncDispose]();
    await this.#member?.[Symbol.asyncDispose]();
    await this.#running;
    // A try that was under way may have left something, a member among it.
    await this.#end[Symbol.asyncDispose]();
    if (wipe) {
      await this.#member?.stop();
      // Keys among it, in clear.
      await rm(this.#deps.runDirectory, { recursive: true, force: true });
      failpoint('swarm.membership.store-stopped');
      await this.#deps.files.wipeStore();
    } else {
      await this.#member?.[Symbol.asyncDispose]();
    }
    this.#opened = undefined;
  }

  async #run(first: readonly Write[] | undefined): Promise<void> {
    const { clock, logger } = this.#deps;
    let delayMs = RETRY_FIRST_MS;
    while (!this.#closed.signal.aborted && this.#opened === undefined) {
      try {
        await this.#open(first);
        this.#trouble = '';
      } catch (error) {
        if (this.#closed.signal.aborted) {
          return;
        }
        this.#trouble = errorText(error);
        logger.warn({ error: errorText(error) }, 'this manager is not ready yet');
        await this.#end[Symbol.asyncDispose]();
        await pause(clock, delayMs, this.#closed.signal);
        delayMs = Math.min(delayMs * 2, RETRY_MAX_MS);
      }
    }
  }

  async #open(first: readonly Write[] | undefined): Promise<void> {
    const { clock, logger } = this.#deps;
    const { signal } = this.#closed;
    const member = await this.#begin();
    if (first !== undefined) {
      await this.#commitFirst(member, first);
      await this.#deps.writeFile({ isVoid: false });
    } else {
      await promoteSelf(this.#deps, member.members, signal);
    }
    const cluster = await Cluster.open({ clock, logger, store: member.store });
    this.#end.defer('close the cluster', () => cluster[Symbol.asyncDispose]());
    await this.#takeOver(cluster);
    const keys = await openKeys(this.#deps, { cluster, channel: member.channel, end: this.#end });
    await this.#moveMember(cluster, member);
    await this.#serve(cluster, this.#member ?? member, keys);
  }

  /** Starts the member, after it was let into the store where it has to be. */
  async #begin(): Promise<StoreMember> {
    if (this.#member !== undefined) {
      return this.#member;
    }
    const { file, files, writeFile } = this.#deps;
    const stored = file().member;
    const isLost = stored?.isBegun === true && !existsSync(path.join(files.storeDirectory, 'member'));
    if (stored === undefined || isLost || this.#deps.certificates.keys.keyring === undefined) {
      await files.wipeStore();
      await joinStore(this.#deps, this.#closed.signal);
    }
    this.#member = await this.#startMember(file().isForced === true);
    this.#closed.signal.throwIfAborted();
    const { member } = file();
    if (member?.isBegun === false) {
      await writeFile({ member: { ...member, isBegun: true } });
    }
    return this.#member;
  }

  async #startMember(forceNewCluster: boolean): Promise<StoreMember> {
    const { clock, logger, etcd, runDirectory, files, certificates, file } = this.#deps;
    const { member, node } = file();
    const { store } = certificates.keys;
    invariant(member !== undefined && store !== undefined, 'a manager has a member of the store');
    return StoreMember.start(
      { clock, logger, etcd, runDirectory, dataDirectory: files.storeDirectory },
      { ...member, name: node, identity: store, forceNewCluster },
    );
  }

  /** May have been written by an attempt whose answer was lost: then it stands. */
  async #commitFirst({ store }: StoreMember, writes: readonly Write[]): Promise<void> {
    try {
      await store.commit({ conditions: writes.map(({ key }) => ({ key, revision: 0 })), writes });
      failpoint('swarm.membership.first-written');
    } catch (error) {
      if (!isStoreError(error, 'conflict')) {
        throw error;
      }
    }
  }

  /** After `--force-new-cluster`: the others are no managers any more, and the member starts anew without the flag. */
  async #takeOver(cluster: Cluster): Promise<void> {
    const { file, writeFile, certificates, clock } = this.#deps;
    if (file().isForced !== true) {
      return;
    }
    const { writes, identity } = takeOver(cluster, {
      own: certificates.identity,
      peerUrl: file().member?.peerUrl ?? '',
      keyring: this.#keyring(),
      clock,
    });
    for (const commit of writes) {
      await cluster.commit(commit);
    }
    await certificates.change({ manager: { keyring: this.#keyring(), store: identity } });
    failpoint('swarm.membership.taken-over');
    await writeFile({ isForced: false });
    await this.#member?.stop();
    this.#member = undefined;
    throw new EngineError('unavailable', 'the store is started anew, as this manager is alone now');
  }

  /** The others reach this member where the host is now. */
  async #moveMember(cluster: Cluster, member: StoreMember): Promise<void> {
    const { file, certificates, clock } = this.#deps;
    const { node, member: stored } = file();
    const own = (await member.members.list()).find(({ name }) => name === node);
    if (own === undefined || stored === undefined || own.peerUrls.includes(stored.peerUrl)) {
      return;
    }
    const keyring = this.#keyring();
    const authority = new SealedValues(cluster, keyring).read('storeAuthority');
    invariant(authority !== undefined, 'a swarm has an authority of its store');
    const { identity } = certificates;
    const store = newStoreIdentity(authority, { identity, now: nowMs(clock), peerUrl: stored.peerUrl });
    await certificates.change({ manager: { keyring, store } });
    await member.show(store);
    await member.members.update(own.id, stored.peerUrl);
    failpoint('swarm.membership.member-moved');
  }

  async #serve(cluster: Cluster, member: StoreMember, keys: DataKeys): Promise<void> {
    this.#opened = await openParts(this.#deps, {
      cluster,
      member,
      keys,
      end: this.#end,
      onBlockedNodes: (blocked) => {
        this.#blocked = blocked;
      },
      resign: () => this.parts?.resign() ?? Promise.resolve(),
    });
    this.#ready.resolve(this.#opened.parts);
  }

  #keyring(): Keyring {
    const { keyring } = this.#deps.certificates.keys;
    invariant(keyring !== undefined, 'a manager has the keys of the store');
    return keyring;
  }
}
