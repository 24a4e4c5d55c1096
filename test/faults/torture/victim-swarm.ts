import { setTimeout as sleep } from 'node:timers/promises';
import { unreachable } from '../../../daemon/base/errors.ts';
import { processes } from '../../support/engine/cleanup.ts';
import { until } from '../../support/engine/http.ts';
import { FaultyLan } from '../../support/swarm/hosts/faulty-lan.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';
import { pairsBetween, SPARE_SERVICES, type Step } from './steps.ts';

const MANAGERS = [1, 2, 3];
/** All that may be wanted. */
export const SERVICES = ['web', ...SPARE_SERVICES];
/** The overlay network of all services. */
export const NETWORK = 'shop';
/** A lost leader, a lost node and a store without a majority have to be over in this time, beside load. */
const HEALED_MS = 120_000;

/** Published by every node. */
export function portOf(service: string): number {
  return 8080 + SERVICES.indexOf(service);
}

/** What users want of each service, so that the swarm's own word is not taken for it. */
export type Wanted = Map<string, number>;

/** Three managers and two workers on a switch that does what it is told, with services in an overlay network. */
export class VictimSwarm implements AsyncDisposable {
  readonly lan: FaultyLan;
  readonly swarm: TestSwarm;
  readonly wanted: Wanted = new Map();
  readonly #drained = new Set<number>();
  readonly #frozen = new Set<number>();

  private constructor(lan: FaultyLan, swarm: TestSwarm) {
    this.lan = lan;
    this.swarm = swarm;
  }

  static async start(seed: number): Promise<VictimSwarm> {
    const lan = new FaultyLan(String(seed));
    const swarm = await TestSwarm.start(5, {}, lan);
    const victim = new VictimSwarm(lan, swarm);
    await swarm.init();
    await swarm.join(2, 'manager');
    await swarm.join(3, 'manager');
    await swarm.join(4, 'worker');
    await swarm.join(5, 'worker');
    await swarm.must(1, 'network', 'create', '--driver', 'overlay', NETWORK);
    victim.wanted.set('web', 4);
    await victim.#create('web', 4);
    return victim;
  }

  /** Does it; what a swarm in trouble refuses is no problem by itself. */
  async act(step: Step): Promise<void> {
    switch (step.kind) {
      case 'kill':
        await this.swarm.node(step.node).daemon.kill9();
        return;
      case 'kill-store':
        this.#killStore(step.node);
        return;
      case 'freeze':
        this.#freeze(step.node, 'SIGSTOP');
        await sleep(step.seconds * 1000);
        this.#freeze(step.node, 'SIGCONT');
        return;
      case 'cut':
        await this.#during({ cut: pairsBetween(step.groups) }, step.seconds);
        return;
      case 'deaf':
        await this.#during({ cut: [[step.from, step.to]] }, step.seconds);
        return;
      case 'slow': {
        const { kind: _kind, seconds, ...faults } = step;
        await this.#during(faults, seconds);
        return;
      }
      case 'drain':
        if (await this.#tried('node', 'update', '--availability', 'drain', `n${step.node}`)) {
          this.#drained.add(step.node);
        }
        return;
      case 'create':
      case 'remove':
      case 'scale':
      case 'update':
        await this.#want(step);
        return;
      default:
        unreachable(step);
    }
  }

  /** All daemons up, all cables whole, all nodes active. */
  async heal(): Promise<void> {
    await this.lan.heal();
    for (const node of this.#frozen) {
      this.#freeze(node, 'SIGCONT');
    }
    const down = this.swarm.nodes.filter(({ daemon }) => !daemon.isRunning());
    await Promise.all(down.map(({ daemon }) => daemon.up()));
    for (const node of this.#drained) {
      await until(
        `n${node} to be active`,
        () => this.#tried('node', 'update', '--availability', 'active', `n${node}`),
        HEALED_MS,
      );
    }
    this.#drained.clear();
    await this.#repeatWishes();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#frozen) {
      this.#freeze(node, 'SIGCONT');
    }
    await this.swarm[Symbol.asyncDispose]();
  }

  /** The wish counts, whatever became of the call: it is repeated when everything is healed. */
  async #want(step: Extract<Step, { service: string }>): Promise<void> {
    const { service } = step;
    const isThere = this.wanted.has(service);
    if (step.kind === 'create' && !isThere) {
      this.wanted.set(service, step.count);
      await this.#create(service, step.count);
    } else if (step.kind === 'remove' && isThere) {
      this.wanted.delete(service);
      await this.#tried('service', 'rm', service);
    } else if (step.kind === 'scale' && isThere) {
      this.wanted.set(service, step.count);
      await this.#tried('service', 'scale', '--detach', `${service}=${step.count}`);
    } else if (step.kind === 'update' && isThere) {
      await this.#tried('service', 'update', '--detach', '--force', '--update-parallelism', '2', service);
    }
  }

  /** Until a manager has taken all that was wished. */
  async #repeatWishes(): Promise<void> {
    for (const service of SERVICES) {
      const count = this.wanted.get(service);
      await until(
        `${service} to be wanted ${count ?? 0} times`,
        async () =>
          count === undefined
            ? await this.#tried('service', 'rm', service)
            : (await this.#create(service, count)) &&
              (await this.#tried('service', 'scale', '--detach', `${service}=${count}`)),
        HEALED_MS,
      );
    }
  }

  #create(service: string, count: number): Promise<boolean> {
    const words = ['--name', service, '--detach', '--replicas', String(count), '--network', NETWORK];
    const haste = ['--stop-grace-period', '1s', '--restart-delay', '100ms'];
    const port = ['--publish', `${portOf(service)}:80`];
    const page = 'mkdir -p /www; hostname >/www/index.html; exec httpd -f -p 80 -h /www';
    return this.#tried('service', 'create', ...words, ...haste, ...port, 'busybox', 'sh', '-c', page);
  }

  /** By the first manager that takes it; what is so already is taken. */
  async #tried(...words: string[]): Promise<boolean> {
    for (const manager of MANAGERS) {
      if (this.swarm.node(manager).daemon.isRunning() && !this.#frozen.has(manager)) {
        const { code, err } = await this.swarm.docker(manager, ...words);
        if (code === 0 || /already exists|already in use by service|not found/.test(err)) {
          return true;
        }
      }
    }
    return false;
  }

  async #during(faults: Parameters<FaultyLan['set']>[0], seconds: number): Promise<void> {
    await this.lan.set(faults);
    await sleep(seconds * 1000);
    await this.lan.heal();
  }

  #freeze(node: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
    const { daemon } = this.swarm.node(node);
    if (signal === 'SIGSTOP') {
      this.#frozen.add(node);
    } else {
      this.#frozen.delete(node);
    }
    if (daemon.isRunning()) {
      process.kill(daemon.pid, signal);
    }
  }

  #killStore(node: number): void {
    const { daemon } = this.swarm.node(node);
    const etcd = processes().find(({ commandLine }) =>
      commandLine.includes(`--data-dir=${daemon.paths.dataRoot}`),
    );
    if (etcd !== undefined) {
      process.kill(etcd.pid, 'SIGKILL');
    }
  }
}
