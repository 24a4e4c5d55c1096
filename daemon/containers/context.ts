import type { ContainerTable } from '../../storage/database/rows.ts';
import type { HostFacts } from '../../runtime/host/facts.ts';
import type { Clock } from '../base/clock.ts';
import type { ProcessIdentity } from '../base/kernel/processes/process.ts';
import type { Logger } from '../base/logger.ts';
import type { KeyedMutex } from '../base/concurrency/mutex.ts';
import type { Semaphore } from '../base/concurrency/semaphore.ts';
import type { Turns } from '../base/concurrency/turns.ts';
import type { Journal } from '../events/journal-types.ts';
import type { ArchiveWorkers, HiddenMounts, TarSpools } from './files/ports.ts';
import type { Container } from './state/container.ts';
import type { Machine } from './state/machine.ts';
import type {
  ContainerRuntime,
  DescribedDevices,
  HubTokens,
  ImageCatalog,
  LogKeeper,
  MountRunner,
  NetworkSandboxes,
  RootfsStore,
  VolumeBinder,
} from './ports.ts';
import type { EngineDefaults } from './request/engine-defaults.ts';
import type { ContainerIndex } from './state/container-index.ts';
import type { Sampler } from './stats/sampler.ts';
import type { Waiters } from './state/waiters.ts';

/** What the container domain is made with. */
export interface ContainersDeps {
  journal: Journal;
  table: ContainerTable;
  runtime: ContainerRuntime;
  rootfs: RootfsStore;
  mounts: MountRunner & HiddenMounts;
  archives: ArchiveWorkers;
  tarSpools: TarSpools;
  images: ImageCatalog;
  networks: NetworkSandboxes;
  volumes: VolumeBinder;
  logs: LogKeeper;
  hubTokens: HubTokens;
  describedDevices: DescribedDevices;
  clock: Clock;
  log: Logger;
  /** Facts of the host, read once at start. */
  facts: HostFacts;
  /** The configuration's part in new containers. */
  defaults: EngineDefaults;
  /** Directory below which `containers/<id>` is ours: log, hosts, hostname, resolv.conf. */
  dataRoot: string;
  /** Name of the storage driver that inspect shows. */
  storageDriver: string;
  /** Parent of the containers' cgroups when they name none. */
  cgroupParent: string;
  /** Identifies this boot of the host. */
  bootId: string;
  /** True while exactly this process lives. */
  isAlive(process: ProcessIdentity): boolean;
}

/**
 * What the verbs share: the dependencies, and the state of the domain. A verb is a function of this context.
 *
 * INVARIANTS
 * - `mutex` is held, per container id, by whatever makes or unmakes something in the kernel for it: start, the release
 *   after an exit, remove. Never while waiting for a process to end: kill must get through.
 * - Only `machine` changes a container.
 */
export interface ContainerContext extends ContainersDeps {
  registry: ContainerIndex;
  machine: Machine;
  waiters: Waiters;
  /** By id: what the last daemon left of a container is still being settled; verbs wait for it, but for `list`. */
  restoring: Map<string, Promise<void>>;
  mutex: KeyedMutex;
  /** Bounds how many starts run at a time. */
  starts: Semaphore;
  /** Taken before each stretch of synchronous work, so that many containers at once do not stop the event loop. */
  turns: Turns;
  /** Samples the containers of which a client reads statistics. */
  sampler: Sampler<Container>;
  /** Where the volumes in use lie on the host, by name; inspect shows it. */
  volumePaths: Map<string, string>;
}
