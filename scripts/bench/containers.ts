import type { HttpClient } from '../../test/support/engine/http.ts';

/** The calls every workload is made of: plain Engine API, the same bytes to both engines. */

export async function create(
  http: HttpClient,
  command: string[],
  hostConfig: object = {},
  name?: string,
): Promise<string> {
  // dockerd publishes nothing that is not exposed as well.
  const ports = 'PortBindings' in hostConfig ? (hostConfig.PortBindings ?? {}) : {};
  const published = Object.keys(ports).map((port) => [port, {}] as const);
  const answer = await http.ok('POST', `/containers/create${name === undefined ? '' : `?name=${name}`}`, {
    Image: 'busybox:latest',
    Cmd: command,
    ExposedPorts: { '80/tcp': {}, ...Object.fromEntries(published) },
    HostConfig: hostConfig,
  });
  return idOf(answer);
}

export async function start(http: HttpClient, id: string): Promise<void> {
  await http.ok('POST', `/containers/${id}/start`);
}

/** Waits for the end and checks that it was a good one: a fast failure is no result. */
export async function wait(http: HttpClient, id: string): Promise<void> {
  const answer = await http.ok('POST', `/containers/${id}/wait`);
  const status = isObject(answer) ? answer['StatusCode'] : undefined;
  if (status !== 0) {
    throw new Error(`container ${id.slice(0, 12)} ended with ${String(status)}`);
  }
}

export async function remove(http: HttpClient, id: string): Promise<void> {
  await http.ok('DELETE', `/containers/${id}?force=1`);
}

/** What `docker run --rm` comes to. */
export async function runToEnd(http: HttpClient, hostConfig: object): Promise<void> {
  const id = await create(http, ['true'], hostConfig);
  await start(http, id);
  await wait(http, id);
  await remove(http, id);
}

/** A command in a running container, its output read to the end, its exit code looked at. */
export async function execEcho(http: HttpClient, containerId: string): Promise<void> {
  const stdout = await exec(http, containerId, ['echo', 'hello']);
  if (stdout !== 'hello\n') {
    throw new Error(`exec answered ${JSON.stringify(stdout)}`);
  }
}

/** Runs a command in a container, which must succeed; answers its output. */
export async function exec(http: HttpClient, containerId: string, command: string[]): Promise<string> {
  const id = idOf(
    await http.ok('POST', `/containers/${containerId}/exec`, {
      AttachStdout: true,
      AttachStderr: true,
      Cmd: command,
    }),
  );
  const stream = await http.hijack(`/exec/${id}/start`, { body: { Detach: false, Tty: false } });
  const { stdout, stderr } = await stream.output();
  const { ExitCode } = await http.ok<{ ExitCode: number }>('GET', `/exec/${id}/json`);
  if (ExitCode !== 0) {
    throw new Error(`exec ended with ${ExitCode}: ${stderr}`);
  }
  return stdout;
}

/** Reads the whole log without keeping it; answers the bytes received. */
export async function drainLog(http: HttpClient, id: string): Promise<number> {
  const response = await http.open('GET', `/containers/${id}/logs?stdout=1&stderr=1`);
  let bytes = 0;
  for await (const chunk of response) {
    bytes += Buffer.from(chunk).length;
  }
  return bytes;
}

function idOf(answer: unknown): string {
  if (isObject(answer) && typeof answer['Id'] === 'string') {
    return answer['Id'];
  }
  throw new Error(`no Id in ${JSON.stringify(answer)}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
