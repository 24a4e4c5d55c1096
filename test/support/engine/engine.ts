import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type {
  ContainerCreateRequest,
  ContainerCreateResponse,
  ContainerInspect,
  ContainerSummary,
  WaitResponse,
} from '../../../api/types/container.ts';
import type { ExecInspect } from '../../../api/types/exec.ts';
import type { HostConfig } from '../../../api/types/host-config.ts';
import type { ImageSummary } from '../../../api/types/image.ts';
import { referenceOf, TestDaemon, type TestDaemonOptions } from './daemon.ts';
import { demultiplex, until, type HttpClient, type Output } from './http.ts';
import { needs, needsEngine, type Requirement } from '../needs.ts';
import { differences } from './oracle.ts';
import { isRuntime } from '../process.ts';
import { ServiceDaemon } from './service.ts';

/**
 * A test file's engine: a real daemon with `busybox:latest`, and short words for what tests do most. One daemon per
 * file; every test starts without containers, and after the last one nothing may be left in the kernel or on disk.
 */
export class Engine {
  #daemon: TestDaemon | undefined;

  get daemon(): TestDaemon {
    if (this.#daemon === undefined) {
      throw new Error('the daemon runs only inside tests');
    }
    return this.#daemon;
  }

  get http(): HttpClient {
    return this.daemon.http;
  }

  async up(options: TestDaemonOptions): Promise<void> {
    this.#daemon = await (onService ? ServiceDaemon : TestDaemon).start(options);
    await this.#daemon.loadBusybox();
  }

  async down(): Promise<void> {
    await this.#daemon?.[Symbol.asyncDispose]();
    this.#daemon = undefined;
  }

  /** Creates a container of busybox; answers its id. */
  async create(
    command: string[],
    host: HostConfig = {},
    more: ContainerCreateRequest = {},
    name?: string,
  ): Promise<string> {
    const query = name === undefined ? '' : `?name=${encodeURIComponent(name)}`;
    const { Id } = await this.http.ok<ContainerCreateResponse>('POST', `/containers/create${query}`, {
      Image: 'busybox:latest',
      Cmd: command,
      HostConfig: { NetworkMode: 'none', ...host },
      ...more,
    });
    return Id;
  }

  /** Creates and starts a container; answers its id once its command is executed. */
  async start(
    command: string[],
    host?: HostConfig,
    more?: ContainerCreateRequest,
    name?: string,
  ): Promise<string> {
    const id = await this.create(command, host, more, name);
    await this.http.ok('POST', `/containers/${id}/start`);
    const { status, json } = await this.http.request('GET', `/containers/${id}/json`);
    if (status === 200) {
      // Of one that has ended meanwhile it is 0, and gone are those that are removed then.
      const { Pid } = (json as ContainerInspect).State;
      await until(`${id.slice(0, 12)} to execute its command`, () => !isRuntime(Pid));
    }
    return id;
  }

  /** Runs a container to its end; answers exit code and output. */
  async run(
    command: string[],
    host?: HostConfig,
    more?: ContainerCreateRequest,
  ): Promise<Output & { exitCode: number; id: string }> {
    const id = await this.start(command, host, more);
    const exitCode = await this.wait(id);
    return { id, exitCode, ...(await this.logs(id)) };
  }

  async wait(id: string, query = ''): Promise<number> {
    const { StatusCode } = await this.http.ok<WaitResponse>('POST', `/containers/${id}/wait${query}`);
    return StatusCode;
  }

  /** Framed logs, taken apart. */
  async logs(id: string, query = ''): Promise<Output> {
    const answer = await this.http.request('GET', `/containers/${id}/logs?stdout=1&stderr=1${query}`);
    return demultiplex(answer.bytes);
  }

  inspect(id: string): Promise<ContainerInspect> {
    return this.http.ok('GET', `/containers/${id}/json`);
  }

  list(query = '?all=1'): Promise<ContainerSummary[]> {
    return this.http.ok('GET', `/containers/json${query}`);
  }

  async remove(id: string): Promise<void> {
    await this.http.ok('DELETE', `/containers/${id}?force=1&v=1`);
  }

  /** Runs a command in a running container; answers its output and exit code. */
  async exec(
    id: string,
    command: string[],
    more: object = {},
  ): Promise<Output & { exitCode: number | null }> {
    const { Id } = await this.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      AttachStdout: true,
      AttachStderr: true,
      Cmd: command,
      ...more,
    });
    const stream = await this.http.hijack(`/exec/${Id}/start`, { body: { Detach: false, Tty: false } });
    const output = await stream.output();
    const { ExitCode } = await this.http.ok<ExecInspect>('GET', `/exec/${Id}/json`);
    return { ...output, exitCode: ExitCode };
  }

  /** Resolves once the container is in this state; answers the inspection. */
  async untilState(id: string, status: string): Promise<ContainerInspect> {
    let seen = await this.inspect(id);
    await until(`${id.slice(0, 12)} to be ${status}`, async () => {
      seen = await this.inspect(id);
      return seen.State.Status === status;
    });
    return seen;
  }

  async removeAll(): Promise<void> {
    for (const { Id } of await this.list()) {
      await this.remove(Id);
    }
  }

  /** All but busybox, as far as nothing uses them. */
  async removeImages(): Promise<void> {
    for (const { Id, RepoTags } of await this.http.ok<ImageSummary[]>('GET', '/images/json')) {
      if (!(RepoTags ?? []).includes('busybox:latest')) {
        await this.http.request('DELETE', `/images/${Id}?force=1`);
      }
    }
  }
}

/** The reference (dockerd) that this run looks at instead of Berth. */
const reference = referenceOf(process.env['BERTH_TEST_ENGINE']);
export const onReference = reference !== undefined;

/** True in the guest of scripts/vm, where the engine is the system service. */
export const onService = process.env['BERTH_TEST_ENGINE'] === 'service';

/** A `describe` with an engine of its own, cleaned between tests and checked by the oracle after the last. */
export function describeEngine(
  title: string,
  body: (engine: Engine) => void,
  options: TestDaemonOptions & { alsoNeeds?: Requirement[] } = {},
): void {
  const engine = new Engine();
  const { alsoNeeds = [] } = options;
  const suite = onReference
    ? needs('root', reference === 'dockerd26' ? 'trixie' : 'dockerd', ...alsoNeeds)
    : needsEngine(...alsoNeeds);
  suite(title, () => {
    beforeAll(() => engine.up(options));
    afterEach(() => engine.removeAll());
    afterAll(() => engine.down());
    body(engine);
    test('leaves nothing behind', async () => {
      await engine.removeAll();
      if (!onReference) {
        await expect.poll(() => differences(engine.daemon)).toEqual([]);
      }
    });
  });
}
