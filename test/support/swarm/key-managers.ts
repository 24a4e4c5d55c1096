import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { systemClock, type Clock } from '../../../daemon/base/clock.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Cluster } from '../../../swarm/cluster/cluster.ts';
import type { RootChange } from '../../../swarm/control/ports.ts';
import type { Leading } from '../../../swarm/leader/ports.ts';
import { NodeCertificates } from '../../../swarm/membership/certificates.ts';
import { NodeFiles } from '../../../swarm/membership/files.ts';
import { firstThings, type FirstThings } from '../../../swarm/membership/first-writes.ts';
import { DataKeys } from '../../../swarm/membership/keys/data-keys.ts';
import { keyMethods } from '../../../swarm/membership/keys/methods.ts';
import { resealLoop } from '../../../swarm/membership/keys/reseal-loop.ts';
import { WaitingKeys } from '../../../swarm/membership/keys/waiting-keys.ts';
import { Authority } from '../../../swarm/membership/manager/authority.ts';
import { ManagerTable, managersIn } from '../../../swarm/membership/manager/manager-table.ts';
import { SealedValues } from '../../../swarm/membership/manager/sealed-values.ts';
import { isSealedKey, sealedKey } from '../../../swarm/objects/values.ts';
import type { RpcClient } from '../../../swarm/rpc/port.ts';
import { ScriptedFaults } from '../../../swarm/store/memory/faults.ts';
import { MemoryCluster } from '../../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../../swarm/store/memory/memory-store.ts';
import { sealedBy } from '../../../swarm/store/sealed.ts';
import { SeededRandom } from '../seeded-random.ts';

const FASTER = 200;

/** Pauses are short; the time of day is right. */
const hasty: Clock = {
  nowNano: () => systemClock.nowNano(),
  monotonicMs: () => systemClock.monotonicMs() * FASTER,
  setTimeout: (callback, delayMs) => systemClock.setTimeout(callback, delayMs / FASTER),
};

/** Managers of one swarm with their keys on disk; the store is in memory, and calls need no network. */
export class KeyManagers implements AsyncDisposable {
  readonly directory = mkdtempSync('/tmp/berth-test-keys-');
  readonly store = new MemoryCluster(systemClock);
  readonly all = new Map<string, KeyManager>();
  readonly first: FirstThings;
  readonly random = new SeededRandom(7);
  /** As users keep them: what a manager's file was sealed with when it went. */
  readonly unlockKeys = new Map<string, Buffer>();
  #loop: AsyncDisposable | undefined;

  constructor() {
    this.first = firstThings(
      {
        identity: { node: 'm1', cluster: 'c1', role: 'swarm-manager' },
        spec: { Name: 'default' },
        availability: 'active',
        addressPools: [],
        subnetSize: 24,
        dataPathPort: 4789,
        peerUrl: 'https://127.0.0.1:2378',
      },
      { now: Date.now(), random: this.random },
    );
  }

  /** A manager, for the first time or again: then with what its daemon of before has left. */
  async up(id: string): Promise<KeyManager> {
    const manager = new KeyManager(this, id);
    await manager.open();
    this.all.set(id, manager);
    return manager;
  }

  async three(): Promise<[KeyManager, KeyManager, KeyManager]> {
    return [await this.up('m1'), await this.up('m2'), await this.up('m3')];
  }

  /** `kill -9`, as far as one process can. */
  async down(id: string): Promise<void> {
    const manager = this.all.get(id);
    this.all.delete(id);
    await manager?.[Symbol.asyncDispose]();
  }

  /** This manager leads from now on, and no other one does. `commit`: what becomes of its writes. */
  async lead(manager: KeyManager, commit?: Leading['commit']): Promise<void> {
    await this.#loop?.[Symbol.asyncDispose]();
    const { cluster } = manager;
    const leading = {
      cluster,
      signal: new AbortController().signal,
      commit: commit ?? ((of: Parameters<Leading['commit']>[0]) => cluster.commit(of)),
    };
    const { keys, table } = manager;
    this.#loop = resealLoop({
      clock: hasty,
      logger: silentLogger,
      keyring: () => keys.held,
      managers: () => table.dataKeys(),
      // Nothing else of it is used.
    }).start(leading as unknown as Leading);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop?.[Symbol.asyncDispose]();
    for (const id of this.all.keys()) {
      await this.down(id);
    }
    rmSync(this.directory, { recursive: true });
  }
}

export class KeyManager implements AsyncDisposable {
  readonly id: string;
  readonly faults = new ScriptedFaults();
  /** Times that its member's file was rewritten, and what goes wrong with the next ones. */
  readonly purges: (Error | undefined)[] = [];
  purged = 0;
  cluster!: Cluster;
  keys!: DataKeys;
  authority!: Authority;
  table!: ManagerTable;
  #certificates!: NodeCertificates;
  readonly #swarm: KeyManagers;

  constructor(swarm: KeyManagers, id: string) {
    this.#swarm = swarm;
    this.id = id;
  }

  get pem(): string {
    return readFileSync(path.join(this.#swarm.directory, this.id, 'node.pem'), 'utf8');
  }

  /** The unlock key that its file is sealed with, base64. */
  get unlockKey(): string {
    return this.#certificates.unlockKey?.toString('base64') ?? '';
  }

  async open(): Promise<void> {
    const { store, directory, first, random } = this.#swarm;
    const files = new NodeFiles(path.join(directory, this.id));
    if ((await files.readKeys()) === undefined) {
      await new NodeCertificates(files, { ...first, unlockKey: undefined }).writeAll();
    }
    const unlockKey = this.#swarm.unlockKeys.get(this.id);
    this.#certificates = await NodeCertificates.read(files, unlockKey);
    const memory = new MemoryStore({ clock: systemClock, cluster: store, faults: this.faults.next });
    this.cluster = await Cluster.open({ clock: systemClock, logger: silentLogger, store: memory });
    if (this.cluster.value(sealedKey.root()) === undefined) {
      await this.cluster.commit({ conditions: [], values: first.writes });
    }
    this.keys = new DataKeys({
      clock: hasty,
      logger: silentLogger,
      cluster: this.cluster,
      certificates: this.#certificates,
      waiting: new WaitingKeys(path.join(directory, this.id, 'run')),
      dial: (addr) => this.#dial(addr),
      node: this.id,
      managers: () => managersIn(this.cluster),
      purge: async () => {
        const error = this.purges.shift();
        if (error !== undefined) {
          throw error;
        }
        this.purged += 1;
      },
    });
    // One that cannot be opened yet is followed later.
    await this.keys.follow().catch(() => undefined);
    const sealed = new SealedValues(this.cluster, {
      seal: (name, value) => this.keys.held.seal(name, value),
      open: (name, value) => this.keys.known.open(name, value),
    });
    this.authority = new Authority({
      clock: systemClock,
      random,
      cluster: this.cluster,
      sealed,
      credentials: () => this.#certificates.credentials,
      keys: this.keys,
    });
    this.table = new ManagerTable({
      clock: hasty,
      logger: silentLogger,
      cluster: this.cluster,
      dial: (addr) => this.#dial(addr),
      node: this.id,
      addr: `${this.id}:2377`,
      dataKey: () => this.keys.held.newest,
    });
    await this.table.announce();
    this.keys.begin(() => this.table.announce());
  }

  /** As an update of the swarm does it. */
  async change(change: Partial<RootChange>): Promise<void> {
    const whole: RootChange = {
      wish: { forceRotate: 0, externals: [] },
      rotateWorkerToken: false,
      rotateManagerToken: false,
      rotateUnlockKey: false,
      autoLock: false,
      ...change,
    };
    const { conditions, writes } = await this.authority.prepare(whole);
    await this.cluster.commit({ conditions, values: writes });
    await this.authority.applied();
  }

  async put(key: string, text: string): Promise<void> {
    const value = this.keys.held.seal(key, Buffer.from(text));
    await this.cluster.commit({ conditions: [], values: [{ kind: 'put', key, value }] });
  }

  /** `''` where there is nothing. */
  textOf(key: string): string {
    const value = this.cluster.value(key)?.value;
    return value === undefined ? '' : this.keys.known.open(key, value).toString();
  }

  /** Ids of the keys that values are sealed with, each once. */
  sealers(): number[] {
    const sealed = [...this.cluster.values('')].filter(({ key }) => isSealedKey(key));
    return [...new Set(sealed.map(({ key, value }) => sealedBy(key, value)))].toSorted((a, b) => a - b);
  }

  ids(): number[] {
    return this.keys.held.keys.map(({ id }) => id).toSorted((a, b) => a - b);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.unlockKey !== '') {
      this.#swarm.unlockKeys.set(this.id, Buffer.from(this.unlockKey, 'base64'));
    }
    this.table[Symbol.dispose]();
    await this.keys[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }

  #dial(addr: string): RpcClient {
    const other = this.#swarm.all.get(addr.replace(':2377', ''));
    return {
      addr,
      call: async (name, body) => {
        if (other === undefined || !this.#swarm.all.has(other.id)) {
          throw new EngineError('unavailable', `${addr} does not answer`);
        }
        const method = keyMethods(other.keys).find((each) => each.name === name);
        return method?.kind === 'call'
          ? await method.handle(
              JSON.parse(JSON.stringify(body ?? null)),
              { identity: undefined, address: '' },
              new AbortController().signal,
            )
          : true;
      },
      // Managers ask each other nothing else about keys.
      stream: () => unused(),
      upload: () => unused(),
      [Symbol.dispose]: () => undefined,
    };
  }
}

function unused(): never {
  throw new Error('keys are asked for by calls');
}
