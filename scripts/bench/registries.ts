import { execFileSync } from 'node:child_process';
import type { TestDaemon } from '../../test/support/daemon.ts';
import type { HttpClient } from '../../test/support/http.ts';
import { publish } from '../../test/support/registry-content.ts';
import { TestRegistry } from '../../test/support/registry.ts';

/** Directories of a Debian host that make one layer each: programs, libraries and many small files. */
const LAYERS = [['usr/sbin'], ['usr/lib/python3'], ['usr/share/doc'], ['usr/share/perl', 'usr/lib/git-core']];
const NAME = '127.0.0.1:5000/bench/debian';
const LAYER_BYTES_MAX = 512 * 1024 * 1024;

let filled: Promise<TestRegistry> | undefined;

/** A registry beside the daemon that has an image of a few hundred MB. */
export async function fullRegistry(daemon: TestDaemon): Promise<TestRegistry> {
  filled ??= fill();
  return await registryBeside(daemon, 5000, await filled);
}

/** An empty one. */
export function registryBeside(
  daemon: TestDaemon,
  port: number,
  store?: TestRegistry,
): Promise<TestRegistry> {
  const enter = (...argv: string[]): string[] => daemon.netns.enter(...argv);
  return TestRegistry.start({ port, enter, ...(store && { store }) });
}

/** At the end of all workloads: the registry would keep this program alive. */
export async function forgetFilled(): Promise<void> {
  await (await filled)?.[Symbol.asyncDispose]();
  filled = undefined;
}

export async function pull(http: HttpClient): Promise<void> {
  await succeed(http, `/images/create?fromImage=${NAME}&tag=1`);
}

export async function removePulled(http: HttpClient): Promise<void> {
  await http.ok('DELETE', `/images/${NAME}:1?force=1`);
}

/** To a registry that neither engine has met: everything is uploaded. */
export async function push(http: HttpClient, { address }: TestRegistry): Promise<void> {
  await succeed(http, `/images/${address}/bench/debian/push?tag=1`);
}

export async function tagFor(http: HttpClient, { address }: TestRegistry): Promise<void> {
  await http.ok('POST', `/images/${NAME}:1/tag?repo=${address}/bench/debian&tag=1`);
}

async function succeed(http: HttpClient, path: string): Promise<void> {
  const headers = { 'X-Registry-Auth': 'e30=' };
  const { status, text } = await http.request('POST', path, { headers });
  if (status !== 200 || text.includes('errorDetail')) {
    throw new Error(`${path}: ${status} ${text.slice(-500)}`);
  }
}

async function fill(): Promise<TestRegistry> {
  const registry = await TestRegistry.start({ port: 0 });
  const layers = LAYERS.map((paths) =>
    execFileSync('tar', ['--create', '--sort=name', '--directory=/', '--ignore-failed-read', ...paths], {
      maxBuffer: LAYER_BYTES_MAX,
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  await publish(`http://${registry.address}`, 'bench/debian:1', layers);
  return registry;
}
