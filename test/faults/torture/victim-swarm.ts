import { setTimeout as sleep } from 'node:timers/promises';
import { unreachable } from '../../../daemon/base/errors.ts';
import { until } from '../../support/engine/http.ts';
import { FaultyLan } from '../../support/swarm/hosts/faulty-lan.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';
import { clockOff, containersPids, killStore, storeOf, wipe } from './hosts.ts';
import { isOfManagers, type Point } from './points.ts';
import { MANAGERS, pairsBetween, type Step } from './steps.ts';
import { HEALED_MS, Wishes } from './wishes.ts';

/** What was under way when a daemon died, a container's end too, is over. */
const STILL_MS = 3_000;
/** Until a daemon has come to where it is to die; it may never come there. */
const DEATH_MS = 10_000;

/** Three managers and two workers on a switch that does what it is told, with services in overlay networks. */
export class VictimSwarm implements AsyncDisposable {
  readonly lan: FaultyLan;
  readonly swarm: TestSwarm;
  readonly wishes: Wishes;
  /** What was seen to go wrong while something was done. */
  readonly seen: string[] = [];
  readonly #drained = new Set<number>();
  /** Processes that stand still, by the node. */
  readonly #frozen = new Map<number, number[]>();
  readonly #clockIsOff = new Set<number>();
  /** Processes of containers beside a dead daemon. */
  readonly #orphans = new Map<number, number[]>();

  private constructor(lan: FaultyLan, swarm: TestSwarm) {
    this.lan = lan;
    this.swarm = swarm;
    this.wishes = new Wishes(swarm, (...words) => this.#tried(...words));
  }

  static async start(seed: number): Promise<VictimSwarm> {
    const lan = new FaultyLan(String(seed));
    const swarm = await TestSwarm.start(5, { armable: true }, lan);
    const victim = new VictimSwarm(lan, swarm);
    await swarm.init();
    for (const number of [2, 3, 4, 5]) {
      await swarm.join(number, roleOf(number));
    }
    await victim.wishes.start();
    return victim;
  }

  /** Does it; what a swarm in trouble refuses is no problem by itself. */
  async act(step: Step): Promise<void> {
    switch (step.kind) {
      case 'kill':
        await this.#kill(step.node);
        return;
      case 'kill-store':
        killStore(this.swarm.node(step.node).daemon);
        return;
      case 'die-at':
        await this.#dieAt(step.node, step.point);
        return;
      case 'managers':
        await this.#stopManagers(step.order, step.seconds);
        return;
      case 'freeze':
      case 'freeze-leader':
        await this.#freezeFor(step);
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
      case 'clock':
        await this.#kill(step.node);
        await this.#up(step.node, clockOff(step.seconds));
        this.#clockIsOff.add(step.node);
        return;
      case 'wipe':
      case 'leave':
        await this.#joinAnew(step);
        return;
      case 'drain':
        if (await this.#tried('node', 'update', '--availability', 'drain', `n${step.node}`)) {
          this.#drained.add(step.node);
        }
        return;
      case 'rotate-root':
        await this.#tried('swarm', 'ca', '--rotate', '--detach', '--quiet');
        return;
      case 'create':
      case 'remove':
      case 'scale':
      case 'update':
      case 'rotate-secret':
      case 'box':
      case 'unbox':
        await this.wishes.want(step);
        return;
      default:
        unreachable(step);
    }
  }

  /** All daemons up with the right time, all cables whole, all nodes active. */
  async heal(): Promise<void> {
    await this.lan.heal();
    this.swarm.nodes.forEach(({ daemon }) => daemon.arm(''));
    this.#thaw();
    for (const node of this.#clockIsOff) {
      await this.#kill(node);
    }
    this.#clockIsOff.clear();
    await Promise.all(this.swarm.nodes.map((_, index) => this.#up(index + 1)));
    for (const node of this.#drained) {
      await until(
        `n${node} to be active`,
        () => this.#tried('node', 'update', '--availability', 'active', `n${node}`),
        HEALED_MS,
      );
    }
    this.#drained.clear();
    await this.wishes.repeat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#thaw();
    await this.swarm[Symbol.asyncDispose]();
  }

  async #kill(node: number): Promise<void> {
    const { daemon } = this.swarm.node(node);
    if (daemon.isRunning()) {
      await daemon.kill9();
      await sleep(STILL_MS);
      this.#orphans.set(node, containersPids(daemon));
    }
  }

  /** Nothing of what ran beside the dead daemon may have ended. */
  async #up(node: number, env: Record<string, string> = {}): Promise<void> {
    const { daemon } = this.swarm.node(node);
    if (daemon.isRunning()) {
      return;
    }
    const alive = new Set(containersPids(daemon));
    const ended = (this.#orphans.get(node) ?? []).filter((pid) => !alive.has(pid));
    if (ended.length > 0) {
      this.seen.push(`${ended.length} processes of containers of n${node} ended while its daemon was dead`);
    }
    this.#orphans.delete(node);
    await daemon.up(env);
  }

  async #dieAt(node: number, point: Point): Promise<void> {
    const daemons = (isOfManagers(point) ? MANAGERS : [node])
      .map((number) => this.swarm.node(number).daemon)
      .filter((daemon) => daemon.isRunning());
    daemons.forEach((daemon) => daemon.arm(`${point}=sigkill@1`));
    const name = 'box1';
    await this.wishes.want(
      this.wishes.boxes.has(name) ? { kind: 'unbox', name } : { kind: 'box', name, node },
    );
    await this.wishes.want({ kind: 'update', service: 'web' });
    await until('a death', () => daemons.some((daemon) => !daemon.isRunning()), DEATH_MS).catch(
      // The swarm's work did not lead there this time.
      () => undefined,
    );
    daemons.forEach((daemon) => daemon.arm(''));
  }

  /** What runs on any node must not notice. */
  async #stopManagers(order: readonly number[], seconds: number): Promise<void> {
    for (const manager of MANAGERS) {
      const { daemon } = this.swarm.node(manager);
      await daemon.kill9();
      killStore(daemon);
    }
    await sleep(STILL_MS);
    const before = this.swarm.nodes.map(({ daemon }) => containersPids(daemon));
    await sleep(seconds * 1000);
    for (const [index, { daemon, hostname }] of this.swarm.nodes.entries()) {
      const alive = new Set(containersPids(daemon));
      const ended = (before[index] ?? []).filter((pid) => !alive.has(pid));
      if (ended.length > 0) {
        this.seen.push(`${ended.length} processes of containers of ${hostname} ended without managers`);
      }
    }
    for (const manager of order) {
      this.#orphans.delete(manager);
      await this.#up(manager);
      await sleep(1_000);
    }
  }

  async #freezeFor(step: Extract<Step, { kind: 'freeze' | 'freeze-leader' }>): Promise<void> {
    const node = step.kind === 'freeze' ? step.node : await this.#leader();
    const { daemon } = this.swarm.node(node ?? 1);
    const store = step.kind === 'freeze-leader' && step.store ? storeOf(daemon) : undefined;
    const pids = [...(daemon.isRunning() ? [daemon.pid] : []), ...(store === undefined ? [] : [store])];
    this.#frozen.set(node ?? 1, pids);
    pids.forEach((pid) => signal(pid, 'SIGSTOP'));
    await sleep(step.seconds * 1000);
    this.#thaw();
  }

  #thaw(): void {
    [...this.#frozen.values()].flat().forEach((pid) => signal(pid, 'SIGCONT'));
    this.#frozen.clear();
  }

  async #leader(): Promise<number | undefined> {
    for (const manager of MANAGERS) {
      const format = '{{.Hostname}} {{.ManagerStatus}}';
      const { out } = await this.swarm.docker(manager, 'node', 'ls', '--format', format);
      const leader = /n(\d) Leader/.exec(out)?.[1];
      if (leader !== undefined) {
        return Number(leader);
      }
    }
    return undefined;
  }

  /** With the rest of the swarm whole, as three managers do not live through the loss of two. */
  async #joinAnew({ kind, node }: Extract<Step, { kind: 'wipe' | 'leave' }>): Promise<void> {
    await this.heal();
    const { daemon } = this.swarm.node(node);
    const through = node === 1 ? 2 : 1;
    const id = await this.swarm.must(through, 'node', 'inspect', '--format', '{{.ID}}', `n${node}`);
    this.wishes.forget(node);
    if (kind === 'wipe') {
      await wipe(daemon);
    } else {
      await this.swarm.must(node, 'swarm', 'leave', '--force');
    }
    await until(
      `n${node} to be forgotten`,
      async () =>
        (roleOf(node) === 'worker' || (await this.#tried('node', 'demote', id))) &&
        (await this.#tried('node', 'rm', '--force', id)),
      HEALED_MS,
    );
    if (kind === 'wipe') {
      await daemon.up();
      await daemon.loadBusybox();
    }
    await until(
      `n${node} to join`,
      () =>
        this.swarm.join(node, roleOf(node), through).then(
          () => true,
          (error: unknown) => String(error).includes('already part of a swarm'),
        ),
      HEALED_MS,
    );
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
}

function roleOf(node: number): 'manager' | 'worker' {
  return MANAGERS.includes(node) ? 'manager' : 'worker';
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // Ended meanwhile.
  }
}
