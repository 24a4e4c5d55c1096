import { existsSync } from 'node:fs';
import path from 'node:path';
import { EngineError, errorText, invariant } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { Rollback } from '../../../daemon/base/rollback.ts';
import { Cluster } from '../../cluster/cluster.ts';
import { keyChanged } from '../../cluster/cluster.ts';
import { sealedKey } from '../../objects/values.ts';
import type { ManagerAddress } from '../../protocol/session.ts';
import type { Dial } from '../../rpc/port.ts';
import type { RpcServer } from '../../rpc/server.ts';
import { isStoreError } from '../../store/errors.ts';
import { pause } from '../../store/election.ts';
import type { Keyring } from '../../store/sealed.ts';
import type { Write } from '../../store/port.ts';
import type { NodeCertificates } from '../certificates.ts';
import type { NodeFile, NodeFiles } from '../files.ts';
import type { ManagerPart, NodeDeps } from '../ports.ts';
import { Admission } from './admission.ts';
import { Authority } from './authority.ts';
import { BlockedNodes } from './blocked-nodes.ts';
import { takeOver } from './force-new-cluster.ts';
import { Issuing } from './issuing.ts';
import { joinStore, promoteSelf } from './join-store.ts';
import { ManagerTable } from './manager-table.ts';
import { membershipMethods } from './methods.ts';
import { roleLoop } from './role-loop.ts';
import { rotationLoop } from './rotation-loop.ts';
import { SealedValues } from './sealed-values.ts';
import { StoreMember } from './store-member.ts';

const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 8_000;

export interface ManagerLifeDeps<P extends ManagerPart> extends NodeDeps<P> {
  files: NodeFiles;
  certificates: NodeCertificates;
  file: () => NodeFile;
  writeFile: (changes: Partial<NodeFile>) => Promise<void>;
  /** Other managers first. */
  managers: () => readonly ManagerAddress[];
  dial: Dial;
  server: RpcServer;
  onBlocked: () => void;
}

/** What is there of a manager once its store answers. */
interface Opened<P> {
  parts: P;
  issuing: Issuing;
  table: ManagerTable;
  blocked: BlockedNodes;
}

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

  get table(): ManagerTable | undefined {
    return this.#opened?.table;
  }

  get blocked(): ReadonlyMap<string, number> {
    return this.#blocked?.all ?? new Map();
  }

  /** Why it is not ready; `''` where nothing went wrong. */
  get trouble(): string {
    return this.#trouble;
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
    if (wipe) {
      await this.#member?.stop();
      failpoint('swarm.membership.store-stopped');
      await this.#deps.files.wipeStore();
    } else {
      await this.#member?.[Symbol.asyncDispose]();
    }
    await this.#running;
    // A try that was under way may have left something.
    await this.#end[Symbol.asyncDispose]();
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
      await this.#deps.writeFile({ isNew: false });
    } else {
      await promoteSelf(this.#deps, member.members, signal);
    }
    const cluster = await Cluster.open({ clock, logger, store: member.store });
    this.#end.defer('close the cluster', () => cluster[Symbol.asyncDispose]());
    await this.#takeOver(cluster);
    await this.#serve(cluster, this.#member ?? member);
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

  async #serve(cluster: Cluster, member: StoreMember): Promise<void> {
    const { clock, logger, random, certificates, dial, server, file, startManager, onBlocked } = this.#deps;
    const end = this.#end;
    const sealer = {
      seal: (...of: [string, Buffer]) => this.#keyring().seal(...of),
      open: (...of: [string, Buffer]) => this.#keyring().open(...of),
    };
    const sealed = new SealedValues(cluster, sealer);
    const authority = new Authority({
      clock,
      random,
      cluster,
      sealed,
      credentials: () => certificates.credentials,
      relock: () => relock(),
    });
    const relock = async (): Promise<void> => {
      const wanted = authority.unlockKeyBytes();
      if ((wanted?.toString('base64') ?? '') !== (certificates.unlockKey?.toString('base64') ?? '')) {
        await certificates.change({ unlockKey: wanted ?? null });
        logger.info({ locked: wanted !== undefined }, 'the keys of this manager are sealed anew');
      }
    };
    const { members, channel } = member;
    const { node, cluster: clusterId, advertiseAddr: addr } = file();
    const issuing = new Issuing({ clock, random, cluster, authority });
    const admission = new Admission({
      clock,
      cluster,
      members,
      authority,
      sealed,
      keyring: () => this.#keyring(),
      clusterToken: clusterId,
    });
    const table = new ManagerTable({ clock, cluster, dial, node, addr });
    end.defer('close the table of managers', () => table[Symbol.dispose]());
    const blocked = new BlockedNodes(cluster, onBlocked);
    end.defer('close the list of blocked nodes', () => blocked[Symbol.dispose]());
    this.#blocked = blocked;
    onBlocked();
    await relock();
    const values = cluster.subscribeValues((changes) => {
      if (changes.some((change) => keyChanged(change) === sealedKey.unlockKey())) {
        void relock().catch((error: unknown) => {
          logger.error({ error: errorText(error) }, 'the keys of this manager could not be sealed anew');
        });
      }
    });
    end.defer('end watching the unlock key', () => values[Symbol.dispose]());
    const methods = server.add(membershipMethods({ authority, issuing, admission }));
    end.defer('end serving', () => methods[Symbol.dispose]());
    await table.announce();
    const tools = { clock, logger, random };
    const parts = await startManager({
      ...tools,
      nodeId: node,
      clusterId,
      addr,
      cluster,
      sealer,
      members,
      channel,
      dial,
      serve: (more) => server.add(more),
      authority,
      managers: table,
      facts: {
        managers: () => table.addresses(),
        rootFor: (id) => authority.rootFor(id),
        subscribe: (listener) =>
          bothOf(
            table.subscribe(listener),
            cluster.subscribeValues((changes) => {
              if (changes.some((change) => isAboutRoot(keyChanged(change)))) {
                listener();
              }
            }),
          ),
      },
      loops: [
        roleLoop({ clock, logger, members, node, resign: () => this.parts?.resign() ?? Promise.resolve() }),
        rotationLoop({ clock, logger, random, authority, sealed }),
      ],
    });
    end.defer('end the parts of the manager', async () => parts[Symbol.asyncDispose]());
    this.#opened = { parts, issuing, table, blocked };
    this.#ready.resolve(parts);
    logger.info({ node, addr }, 'this node is a manager of the swarm');
  }

  #keyring(): Keyring {
    const { keyring } = this.#deps.certificates.keys;
    invariant(keyring !== undefined, 'a manager has the keys of the store');
    return keyring;
  }
}

function isAboutRoot(key: string): boolean {
  return key === sealedKey.root() || /^node\/[^/]+\/cert$/.test(key);
}

function bothOf(one: Disposable, two: Disposable): Disposable {
  return {
    [Symbol.dispose]: () => {
      one[Symbol.dispose]();
      two[Symbol.dispose]();
    },
  };
}
