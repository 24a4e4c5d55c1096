import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { until } from '../support/engine/http.ts';
import { TestNetns } from '../support/engine/netns.ts';
import { TestLan } from '../support/swarm/hosts/test-lan.ts';
import { TestSwarm } from '../support/swarm/hosts/test-swarm.ts';
import { debianParts } from './debian.ts';

export const STACK = 'voting';
const APP = path.join(import.meta.dirname, 'app');
const MANAGERS = [1, 2, 3];
const ALL_UP_MS = 180_000;
const BUILT = ['vote', 'worker', 'result', 'redis', 'db'] as const;

/** Three managers and two workers, and a host outside that clients are on; the images are built on the first. */
export class Stage implements AsyncDisposable {
  readonly lan: TestLan;
  readonly swarm: TestSwarm;
  readonly outside = new TestNetns(`btc${process.pid}`);

  private constructor(lan: TestLan, swarm: TestSwarm) {
    this.lan = lan;
    this.swarm = swarm;
  }

  static async start(): Promise<Stage> {
    const lan = new TestLan();
    const stage = new Stage(lan, await TestSwarm.start(5, {}, lan));
    try {
      await lan.attach(stage.outside);
      await stage.swarm.init();
      await stage.swarm.join(2, 'manager');
      await stage.swarm.join(3, 'manager');
      await stage.swarm.join(4, 'worker');
      await stage.swarm.join(5, 'worker');
      await stage.swarm.must(1, 'node', 'update', '--label-add', 'disk=fast', 'n4');
      return stage;
    } catch (error) {
      await stage[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** All images, from packages of Debian, by `docker import` and `docker build` on the first manager. */
  async build(): Promise<void> {
    const parts = debianParts();
    await this.swarm.must(1, 'import', parts.base, 'voting/debian');
    for (const name of BUILT) {
      const context = path.join(this.swarm.node(1).daemon.paths.root, `context-${name}`);
      cpSync(APP, context, { recursive: true });
      if (name === 'redis' || name === 'db') {
        cpSync(name === 'redis' ? parts.redis : parts.postgres, `${context}/packages`, { recursive: true });
      }
      const file = path.join(context, `${name}.Dockerfile`);
      const options = ['--quiet', '--network', 'none', '--file', file];
      await this.swarm.must(1, 'build', ...options, '--tag', `voting/${name}:1`, context);
    }
  }

  /** `docker stack deploy`, and waits until all runs. */
  async deploy(): Promise<void> {
    const folder = path.join(this.swarm.node(1).daemon.paths.root, 'stack');
    mkdirSync(folder);
    cpSync(path.join(APP, 'compose.yml'), path.join(folder, 'compose.yml'));
    writeFileSync(path.join(folder, 'db_password.txt'), 'correct horse battery staple');
    const file = path.join(folder, 'compose.yml');
    await this.manage('stack', 'deploy', '--compose-file', file, STACK);
    await this.complete();
  }

  /** The docker CLI on the first manager that answers it. */
  async manage(...words: string[]): Promise<string> {
    let said = '';
    for (const manager of MANAGERS.filter((number) => this.swarm.node(number).daemon.isRunning())) {
      const { code, out, err } = await this.swarm.docker(manager, ...words);
      if (code === 0) {
        return out.trimEnd();
      }
      said = err;
    }
    throw new Error(`docker ${words.join(' ')}: ${said}`);
  }

  /** All services have as many tasks as they want. */
  async complete(): Promise<void> {
    await until(
      'all services to be complete',
      async () => {
        const lines = await this.manage('service', 'ls', '--format', '{{.Replicas}}').catch(() => '');
        const counts = lines.split('\n').map((line) => /^(\d+)\/(\d+)$/.exec(line));
        return (
          counts.length === BUILT.length && counts.every((found) => found !== null && found[1] === found[2])
        );
      },
      ALL_UP_MS,
    );
  }

  /** Throws with the end of its log for a daemon that has ended by itself. */
  allRun(): void {
    const [dead] = this.swarm.nodes.filter(({ daemon }) => !daemon.isRunning());
    if (dead !== undefined) {
      throw new Error(`${dead.hostname} has ended by itself:\n${dead.daemon.log().slice(-4000)}`);
    }
  }

  /** The number of the manager that leads, as those say that are not `besides`. */
  async leader(...besides: number[]): Promise<number> {
    let found = 0;
    await until(
      'a manager to lead',
      async () => {
        for (const manager of MANAGERS.filter((number) => !besides.includes(number))) {
          const list = ['node', 'ls', '--format', '{{.Hostname}} {{.ManagerStatus}}'];
          const { out } = await this.swarm.docker(manager, ...list);
          found = Number(/^n(\d) Leader$/m.exec(out)?.[1] ?? 0);
          if (found !== 0 && !besides.includes(found)) {
            return true;
          }
        }
        return false;
      },
      ALL_UP_MS,
    );
    return found;
  }

  /** Containers of a service that run, by node. */
  async tasksOf(service: string): Promise<{ node: number; container: string }[]> {
    const label = `label=com.docker.swarm.service.name=${STACK}_${service}`;
    const lists = await Promise.all(
      this.swarm.nodes.map(async ({ daemon }, index) => {
        const node = index + 1;
        const said = daemon.isRunning() ? await this.swarm.must(node, 'ps', '-q', '--filter', label) : '';
        return said.split('\n').flatMap((container) => (container === '' ? [] : [{ node, container }]));
      }),
    );
    return lists.flat();
  }

  /** What is asked of the database itself. */
  async ask(statement: string): Promise<string[]> {
    const [db] = await this.tasksOf('db');
    if (db === undefined) {
      throw new Error('no database runs');
    }
    const psql = ['psql', '-h', '/tmp', '-U', 'postgres', '-At', '-c', statement];
    return (await this.swarm.must(db.node, 'exec', db.container, ...psql)).split('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.swarm[Symbol.asyncDispose]();
    this.outside[Symbol.dispose]();
  }
}
