import { existsSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import type {
  ContainerCreateRequest,
  ContainerCreateResponse,
  ContainerInspect,
} from '../../../../api/types/container.ts';
import { cgroupDirectories } from '../../../support/engine/cleanup.ts';
import type { Engine } from '../../../support/engine/engine.ts';
import { until, type Output } from '../../../support/engine/http.ts';
import { isRuntime } from '../../../support/process.ts';

/** One field of container create, and what shows that it is in force. */
export interface FieldRow {
  /** The fields this row shows, as paths below the body: `HostConfig.Memory`, `HostConfig.Mounts.Type`. */
  field: string | readonly string[];
  /** Which of several rows of the same field this is. */
  what?: string;
  /** The request over `busybox sleep`, with network `none`. */
  ask: ContainerCreateRequest | ((world: World) => ContainerCreateRequest | Promise<ContainerCreateRequest>);
  /** Looks from inside or at the kernel; the container has been started. */
  observe: (look: Look) => unknown;
  expected: unknown;
}

/** What requests can be made of: names that exist only in this run. */
export class World {
  readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** A folder of the host; answers its path. */
  folder(name: string): string {
    const folder = `${this.engine.daemon.paths.root}/${name}`;
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** A running container beside the one under test. */
  neighbour(host: object = {}, more: object = {}): Promise<string> {
    return this.engine.start(['sleep', '1000'], host, more, 'neighbour');
  }
}

/** A mount as the kernel lists it for the container's first process (proc(5), mountinfo). */
export interface KernelMount {
  root: string;
  options: string[];
  /** `shared`, `master` or nothing. */
  propagation: string[];
  type: string;
  superOptions: string[];
}

/** The eyes on one running container. */
export class Look {
  readonly engine: Engine;
  readonly id: string;
  /** Of its create. */
  readonly warnings: readonly string[];

  constructor(engine: Engine, id: string, warnings: readonly string[]) {
    this.engine = engine;
    this.id = id;
    this.warnings = warnings;
  }

  /** True while the first process is the runtime's, which executes the command a little after the start. */
  async isRuntime(): Promise<boolean> {
    return isRuntime(await this.pid());
  }

  inspect(): Promise<ContainerInspect> {
    return this.engine.inspect(this.id);
  }

  /** Output of a command inside, without the last newline. */
  async inside(...command: string[]): Promise<string> {
    const { stdout, stderr } = await this.engine.exec(this.id, command);
    return (stdout + stderr).trimEnd();
  }

  /** The same for a line of shell. */
  shell(script: string): Promise<string> {
    return this.inside('sh', '-c', script);
  }

  /** What the container itself has written, once it has ended. */
  async written(): Promise<Output & { exitCode: number }> {
    const exitCode = await this.engine.wait(this.id);
    return { exitCode, ...(await this.engine.logs(this.id)) };
  }

  async pid(): Promise<number> {
    return (await this.inspect()).State.Pid;
  }

  /** A file of its first process below /proc. */
  async proc(file: string): Promise<string> {
    return readFileSync(`/proc/${await this.pid()}/${file}`, 'utf8').trimEnd();
  }

  /** A line of /proc/pid/status. */
  async status(name: string): Promise<string> {
    return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(await this.proc('status'))?.[1] ?? '';
  }

  /** True when its first process is in a namespace of its own, seen from the daemon's. */
  async hasOwn(namespace: string): Promise<boolean> {
    const of = (pid: number): string => readlinkSync(`/proc/${pid}/ns/${namespace}`);
    return of(await this.pid()) !== of(this.engine.daemon.pid);
  }

  /** The namespace itself, for comparing two containers. */
  async namespace(name: string): Promise<string> {
    return readlinkSync(`/proc/${await this.pid()}/ns/${name}`);
  }

  /** A file of the container's cgroup, whichever hierarchy (v1) or name (v2) holds it. */
  cgroup(v1: string, v2: string): string {
    const parent = this.engine.daemon.cgroupParent;
    for (const folder of cgroupDirectories(parent).filter((name) => name.endsWith(this.id))) {
      for (const name of [v1, v2]) {
        if (existsSync(`${folder}/${name}`)) {
          return readFileSync(`${folder}/${name}`, 'utf8').trim();
        }
      }
    }
    throw new Error(`no ${v1} in any cgroup of ${this.id}`);
  }

  /** The topmost mount at a place of the container, undefined when there is none. */
  async mount(destination: string): Promise<KernelMount | undefined> {
    const lines = (await this.proc('mountinfo')).split('\n').map((line) => line.split(' '));
    const fields = lines.findLast(([, , , , point]) => point === destination);
    if (fields === undefined) {
      return undefined;
    }
    const dash = fields.indexOf('-');
    return {
      root: fields[3] ?? '',
      options: (fields[5] ?? '').split(','),
      propagation: fields.slice(6, dash).map((field) => field.replace(/:\d+$/, '')),
      type: fields[dash + 1] ?? '',
      superOptions: (fields[dash + 3] ?? '').split(','),
    };
  }
}

/** Makes a test of each row: create, start, look. */
export function fieldTests(engine: Engine, rows: readonly FieldRow[]): void {
  const named = rows.map((row) => [titleOf(row), row] as const);
  test.each(named)('%s', async (_title, row) => {
    const ask = typeof row.ask === 'function' ? await row.ask(new World(engine)) : row.ask;
    const { Id, Warnings } = await engine.http.ok<ContainerCreateResponse>('POST', '/containers/create', {
      Image: 'busybox:latest',
      Cmd: ['sleep', '1000'],
      ...ask,
      HostConfig: { NetworkMode: 'none', ...ask.HostConfig },
    });
    await engine.http.ok('POST', `/containers/${Id}/start`);
    const look = new Look(engine, Id, Warnings);
    await until('the command to be executed', async () => !(await look.isRuntime()));
    expect(await row.observe(look)).toEqual(row.expected);
  });
}

export function titleOf({ field, what }: { field: string | readonly string[]; what?: string }): string {
  const fields = typeof field === 'string' ? field : field.join(', ');
  return what === undefined ? fields : `${fields}: ${what}`;
}
