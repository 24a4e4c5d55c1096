import type { TargetsPort } from '../../../api/types/cluster/targets.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { TaskFollower, type LabelledTasks } from './followers/task-follower.ts';
import { TaskGate } from './followers/task-gate.ts';
import { Certificates } from './certificates/certificates.ts';
import { Forwarder } from './forwarding/forwarder.ts';
import type { FunctionRuns } from './forwarding/functions.ts';
import { Routes } from './forwarding/routes.ts';
import { Groups, type GroupPlaces } from './groups/groups.ts';
import { HealthChecker, type HealthNews } from './health/checker.ts';
import { KnownPlaces, type TargetPlaces } from './health/places.ts';
import { probe } from './health/probe.ts';
import { targetLimits } from './limits.ts';
import { ListenerSockets } from './listeners/listener-sockets.ts';
import type { ListenerCertificate } from './listeners/http-server.ts';
import { targetOperations } from './operations.ts';
import { Registrations } from './registrations/registrations.ts';
import { Listeners } from './services/listeners.ts';
import { Services } from './services/services.ts';
import type { TargetStore } from './store/port.ts';
import { openTables, type Tables } from './store/tables.ts';
import { Tagging } from './tags/tags.ts';

export interface TargetGroupsDeps {
  store: TargetStore;
  places: TargetPlaces & GroupPlaces;
  functions: FunctionRuns;
  /** Of the swarm, where services have the label of a group. */
  tasks: LabelledTasks;
  /** Whether this host checks, finishes and sweeps: one manager of a swarm does. */
  isOurs(): boolean;
  /** Whether other hosts forward too: then only time tells that a target has drained. */
  hasPeers(): boolean;
  onHealth(news: HealthNews): void;
  /** Address of listeners; undefined = all of this host. */
  listenHost: string | undefined;
  /** That listeners of HTTPS show whose service names none; undefined = these cannot be. */
  certificate: ListenerCertificate | undefined;
  clock: Clock;
  log: Logger;
}

/** Target groups with their checks and their traffic. */
export class TargetGroups implements AsyncDisposable {
  readonly operations: TargetsPort;
  readonly certificates: Certificates;
  readonly groups: Groups;
  /** For tasks of this host. */
  readonly gate: TaskGate;
  readonly registrations: Registrations;
  readonly tables: Tables;
  readonly #deps: TargetGroupsDeps;
  readonly #places: KnownPlaces;
  readonly #routes: Routes;
  readonly #forwarder: Forwarder;
  readonly #checker: HealthChecker;
  readonly #sockets: ListenerSockets;
  readonly #follower: TaskFollower;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(deps: TargetGroupsDeps) {
    const { store, clock, log } = deps;
    const tables = openTables(store);
    const places = new KnownPlaces({ tables, clock, log, places: deps.places });
    const routes = new Routes({ store, tables, places });
    const nowMs = (): number => Number(clock.nowNano() / 1_000_000n);
    const forwarder = new Forwarder({ routes, places, functions: deps.functions, nowMs });
    const host = deps.listenHost;
    const { certificate } = deps;
    const shared = { store, tables, clock };
    const sockets = new ListenerSockets({ ...shared, forwarder, routes, places, host, certificate, log });
    const groups = new Groups({ store, tables, places: deps.places, clock, log });
    const registrations = new Registrations({ store, tables, groups, clock });
    const services = new Services({ store, tables, clock });
    const reserve = (port: number): Promise<void> => sockets.reserve(port);
    const hasCertificate = certificate !== undefined;
    const listeners = new Listeners({ ...shared, services, reserve, hasCertificate });
    const tagging = new Tagging({ store, tables });
    this.operations = targetOperations({ tables, groups, registrations, services, listeners, tagging });
    this.certificates = new Certificates(shared);
    this.#checker = new HealthChecker({
      store,
      tables,
      places,
      clock,
      log,
      probe,
      isOurs: () => deps.isOurs(),
      onChange: (news) => deps.onHealth(news),
      random: () => Math.random(),
    });
    this.gate = new TaskGate({ tables, registrations, routes, clock });
    this.#follower = new TaskFollower({ tables, registrations, tasks: deps.tasks });
    this.groups = groups;
    this.registrations = registrations;
    this.tables = tables;
    this.#deps = deps;
    this.#places = places;
    this.#routes = routes;
    this.#forwarder = forwarder;
    this.#sockets = sockets;
  }

  /** Goes on with what an earlier daemon left, and begins to check and to listen. */
  async start(): Promise<void> {
    await this.#places.follow();
    this.#checker.start();
    await this.#sockets.follow();
    await this.#tend();
  }

  /** Compares once which tasks of labelled services there are with which are registered. */
  async follow(): Promise<void> {
    await this.#follower.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    this.#checker[Symbol.dispose]();
    this.#places[Symbol.dispose]();
    await this.#sockets[Symbol.asyncDispose]();
    this.#forwarder[Symbol.dispose]();
  }

  /** What has to be done from time to time: groups finished, targets that have drained removed. */
  async #tend(): Promise<void> {
    if (this.#isClosed) {
      return;
    }
    if (this.#deps.isOurs()) {
      try {
        await this.groups.sweep();
        await this.follow();
        const isIdle = (target: Parameters<Routes['isIdle']>[0]): boolean => this.#routes.isIdle(target);
        await this.registrations.removeDrained((target) => !this.#deps.hasPeers() && isIdle(target));
      } catch (error) {
        this.#deps.log.warn({ reason: errorText(error) }, 'target groups were not tended');
      }
    }
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.#tend().catch((error: unknown) => this.#deps.log.error({ err: error }, 'targets are not tended'));
    }, targetLimits.followMs);
  }
}
