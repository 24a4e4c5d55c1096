import type { AssignedNetwork, NetworksChange } from '../../../api/types/swarm/overlay.ts';
import type { NetworkPeer, NetworkServices } from '../../../api/types/system.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyedMutex } from '../../base/concurrency/mutex.ts';
import { errorText } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { KernelNetworks } from './kernel-networks.ts';
import { newlyKnown, type KnownNetwork } from './known-network.ts';
import type { NetworkFiles } from './network-files.ts';
import { completed, NetworkState, partsOf, wholeOf } from './network-state.ts';
import type { NetworkPart } from './network-state.ts';
import type { Mesh } from './mesh/mesh.ts';
import { kernelSteps } from './plan.ts';
import type { DataPath } from './plan.ts';
import type { OverlayKernel } from './ports.ts';
import { HostWatch } from './reach/host-watch.ts';
import { hostsWithTasks } from './reach/lead-elsewhere.ts';
import type { Reach } from './reach/reach.ts';
import { Retries } from './retries.ts';
import { servicesIn } from './services-in.ts';
import type { SwarmEntries } from './swarm-entries.ts';

interface Deps {
  kernel: Omit<OverlayKernel, 'mesh'>;
  files: NetworkFiles;
  /** The networks of this host. */
  entries: Pick<SwarmEntries, 'enter' | 'leave'>;
  mesh: Pick<Mesh, 'apply' | 'close' | 'missing' | 'reconsider'>;
  /** Shared with `mesh`. */
  reach: Reach;
  clock: Clock;
  log: Logger;
}

/** Of ids of nodes, as people see them. */
const SHORT_ID_LENGTH = 12;

/** The one key: changes are acted on in the order in which they come. */
const ALL = 'networks';

/**
 * The swarm's networks on this node: what managers tell is brought into the kernel and kept in files, so that it holds
 * while no manager answers. What fails of one network concerns that one only, and is tried again.
 */
export class OverlayNetworks implements AsyncDisposable {
  readonly #deps: Deps;
  readonly #known = new Map<string, KnownNetwork>();
  /** Networks that are gone but not yet in the kernel, and whether each was the ingress network. */
  readonly #leaving = new Map<string, boolean>();
  readonly #turn = new KeyedMutex();
  readonly #retries: Retries;
  readonly #kernel: KernelNetworks;
  readonly #watch: HostWatch;
  /** Other hosts with tasks; undefined = to be looked for. */
  #hosts: ReadonlySet<string> | undefined;
  #dataPath: DataPath = { addr: '', port: 0 };
  #timer: Disposable | undefined;
  #isOver = false;
  /** What is not known here is nobody's. False where files could not be read, until managers have told of all. */
  #knowsAll = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#retries = new Retries(deps.clock, (id) => this.#later(() => this.#retry(id)));
    this.#kernel = new KernelNetworks({
      ...deps,
      retries: this.#retries,
      states: () => [...this.#known.values()].map(({ state }) => state),
      dataPath: () => this.#dataPath,
    });
    this.#watch = new HostWatch({
      ...deps,
      wanted: () => (this.#hosts ??= hostsWithTasks([...this.#known.values()], this.#dataPath.addr)),
      changed: (hosts) =>
        this.#later(async () => this.#known.forEach((known) => this.#kernel.hear(known, hosts))),
    });
  }

  /**
   * Reads what the node knew when its daemon ended: containers that run are in these networks. What cannot be read is
   * logged; managers tell of it again.
   */
  async load(): Promise<void> {
    try {
      for (const { state, dataPath } of await this.#deps.files.load(this.#deps.reach)) {
        this.#dataPath = dataPath;
        const known = newlyKnown(state, this.#deps.reach);
        known.names.apply({ full: true, ...wholeOf(state) });
        this.#known.set(state.network.id, known);
        this.#enter(known);
      }
      this.#knowsAll = true;
    } catch (error) {
      this.#deps.log.error({ err: errorText(error) }, 'networks of the swarm could not be read');
    }
  }

  /** Brings into the kernel what was loaded, and removes what is not known. */
  async start(): Promise<void> {
    await this.#turn.run(ALL, async () => {
      await this.#sweep();
      this.#known.forEach((known) => this.#kernel.make(known));
      if (this.#knowsAll) {
        this.#kernel.settle();
      }
    });
    this.#reconcileLater();
    this.#watch.start();
  }

  /**
   * Returns when it is in force. What fails in the kernel is no failure of this: `trouble` tells of it. New networks
   * are in their files by then, since the tasks in them survive this daemon.
   */
  apply(change: NetworksChange): Promise<void> {
    return this.#turn.run(ALL, () => this.#apply(change));
  }

  /** Why a network is not in force on this node, as a sentence. */
  trouble(networkId: string): string | undefined {
    return this.#known.get(networkId)?.trouble;
  }

  /** The nodes that have something in a network, this one among them, by name; none of one that is not known here. */
  peers(networkId: string): NetworkPeer[] {
    const endpoints = this.#known.get(networkId)?.state.endpoints.values() ?? [];
    const addresses = new Map([...endpoints].map(({ node, nodeAddr }) => [node, nodeAddr]));
    return [...addresses]
      .map(([node, IP]) => ({ Name: node.slice(0, SHORT_ID_LENGTH), IP }))
      .toSorted((a, b) => (a.Name < b.Name ? -1 : 1));
  }

  /** What runs in a network on all nodes, by the service's name, as this node was told. */
  services(networkId: string): NetworkServices {
    const known = this.#known.get(networkId);
    return known === undefined ? {} : servicesIn(known.state);
  }

  /** A sentence for each network that is not in force here, and for each published port that nobody answers at here. */
  troubles(): string[] {
    return [
      ...[...this.#known.values()].flatMap(({ trouble }) => trouble ?? []),
      ...this.#deps.mesh.missing(),
    ];
  }

  /** Entries of the kernel that were not as they had been made, and have been mended. */
  get repairs(): number {
    return this.#kernel.repairs;
  }

  /** The kernel keeps everything: containers go on without a daemon. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
    this.#watch[Symbol.dispose]();
    this.#retries[Symbol.dispose]();
    await this.#turn.run(ALL, () => this.#deps.files.flush());
  }

  async #apply(change: NetworksChange): Promise<void> {
    this.#hosts = undefined;
    const stale = new Set(this.#move(change.dataPath) ? this.#known.values() : []);
    const gone = this.#goneIn(change);
    if (change.keys !== undefined) {
      this.#kernel.takeKeys(change.keys);
    }
    this.#knowsAll ||= change.full;
    for (const id of gone) {
      await this.#remove(id);
    }
    let hasNew = false;
    for (const [id, part] of partsOf(change)) {
      const isNew = !this.#known.has(id);
      const isKnown = this.#applyPart(id, change.full, part, stale);
      hasNew ||= isNew && isKnown;
    }
    [...this.#known.values()]
      .filter((known) => stale.has(known))
      .forEach((known) => this.#kernel.make(known));
    if (gone.length > 0 || change.keys !== undefined) {
      this.#kernel.settle();
    }
    if (hasNew || gone.length > 0) {
      await this.#deps.files.flush();
    }
  }

  /** True when overlay traffic takes another way from now on: all networks are to be made again. */
  #move(dataPath: DataPath): boolean {
    if (dataPath.addr === this.#dataPath.addr && dataPath.port === this.#dataPath.port) {
      return false;
    }
    this.#dataPath = dataPath;
    for (const known of this.#known.values()) {
      known.isWhole = false;
      this.#save(known);
    }
    return true;
  }

  #goneIn(change: NetworksChange): string[] {
    const named = new Set(change.networks.map(({ id }) => id));
    return change.full
      ? [...this.#known.keys()].filter((id) => !named.has(id))
      : change.removedNetworks.filter((id) => this.#known.has(id));
  }

  /** False when the network is not known. One that is to be made whole is put into `stale`. */
  #applyPart(id: string, isFull: boolean, part: NetworkPart, stale: Set<KnownNetwork>): boolean {
    const known = this.#known.get(id) ?? this.#begin(part.network, stale);
    if (known === undefined) {
      this.#deps.log.warn({ network: id }, 'a change of a network that this node does not know is left out');
      return false;
    }
    const { state } = known;
    if (part.network !== undefined && JSON.stringify(part.network) !== JSON.stringify(state.network)) {
      stale.add(known);
    }
    const difference = state.apply(isFull ? completed(state, part) : part);
    known.names.apply({ full: isFull, ...part });
    this.#save(known);
    const steps = kernelSteps(state, difference, this.#dataPath);
    steps.forget.forEach((address) => known.forget.add(address));
    if (known.isWhole && !stale.has(known)) {
      this.#kernel.change(known, steps, { full: isFull, ...part });
    }
    return true;
  }

  #begin(network: AssignedNetwork | undefined, stale: Set<KnownNetwork>): KnownNetwork | undefined {
    if (network === undefined) {
      return undefined;
    }
    const { reach } = this.#deps;
    const known = newlyKnown(new NetworkState(network, reach), reach);
    this.#known.set(network.id, known);
    // It may have come back before it could be removed.
    this.#leaving.delete(network.id);
    this.#retries.settled(network.id);
    stale.add(known);
    return known;
  }

  /** Its file first: a daemon that dies before the rest finds a network that nobody knows. */
  async #remove(id: string): Promise<void> {
    const isIngress = this.#known.get(id)?.state.network.ingress === true;
    this.#known.delete(id);
    this.#retries.settled(id);
    this.#deps.entries.leave(id);
    this.#deps.files.remove(id);
    await this.#close(id, isIngress);
  }

  /** False when it failed, and is tried again. */
  async #close(id: string, isIngress: boolean): Promise<boolean> {
    this.#leaving.set(id, isIngress);
    if (isIngress) {
      this.#deps.mesh.close();
    }
    try {
      await (isIngress ? this.#deps.kernel.closeIngress() : this.#deps.kernel.closeOverlay(id));
    } catch (error) {
      this.#deps.log.error(
        { network: id, err: errorText(error) },
        'a network could not be removed from this host',
      );
      this.#retries.failed(id);
      return false;
    }
    this.#leaving.delete(id);
    this.#retries.settled(id);
    return true;
  }

  async #retry(id: string): Promise<void> {
    const isIngress = this.#leaving.get(id);
    const known = this.#known.get(id);
    if (isIngress !== undefined) {
      await this.#close(id, isIngress);
    } else if (known?.isWhole === false) {
      this.#kernel.make(known);
    }
  }

  /** Networks of this host that nobody knows: what a daemon that died was about to remove. */
  async #sweep(): Promise<void> {
    const orphans = this.#orphans();
    const hasIngress = [...this.#known.values()].some(({ state }) => state.network.ingress);
    for (const id of orphans) {
      // Which of them was the ingress network is not known any more.
      if (hasIngress || (await this.#close(id, true))) {
        await this.#close(id, false);
      }
    }
  }

  #orphans(): string[] {
    if (!this.#knowsAll) {
      return [];
    }
    try {
      return this.#deps.kernel.overlays().filter((id) => !this.#known.has(id) && !this.#leaving.has(id));
    } catch (error) {
      this.#deps.log.error({ err: errorText(error) }, 'networks that nobody knows could not be looked for');
      return [];
    }
  }

  #reconcileLater(): void {
    if (!this.#isOver) {
      this.#timer = this.#deps.clock.setTimeout(
        () => this.#later(() => this.#reconcile()),
        limits.overlayReconcileMs,
      );
    }
  }

  async #reconcile(): Promise<void> {
    this.#reconcileLater();
    await this.#sweep();
    this.#kernel.settle();
    [...this.#known.values()].filter(({ isWhole }) => isWhole).forEach((known) => this.#kernel.repair(known));
  }

  /** In its turn. */
  #later(step: () => Promise<void>): void {
    void this.#turn.run(ALL, step).catch((error: unknown) => {
      this.#deps.log.error({ err: errorText(error) }, 'networks of the swarm could not be looked after');
    });
  }

  /** A name that is taken is told by `trouble`, once the kernel is to have the network. */
  #enter({ state, names }: KnownNetwork): void {
    try {
      this.#deps.entries.enter(state.network, names);
    } catch (error) {
      this.#deps.log.warn(
        { network: state.network.id, err: errorText(error) },
        'a network is left out for now',
      );
    }
  }

  #save({ state }: KnownNetwork): void {
    this.#deps.files.save(state, () => this.#dataPath);
  }
}
