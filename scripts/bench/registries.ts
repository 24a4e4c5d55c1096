import { readFileSync } from 'node:fs';
import type { TestDaemon } from '../../test/support/engine/daemon.ts';
import { debianRootfs } from '../../test/support/images/debian-rootfs.ts';
import type { HttpClient } from '../../test/support/engine/http.ts';
import { publish } from '../../test/support/registry/registry-content.ts';
import { TestRegistry } from '../../test/support/registry/registry.ts';

const NAME = '127.0.0.1:5000/bench/debian';

let filled: Promise<TestRegistry> | undefined;

/** A registry beside the daemon that has a Debian root file system in four layers. */
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
  const layers = debianRootfs().layers.map((file) => readFileSync(file));
  await publish(`http://${registry.address}`, 'bench/debian:1', layers);
  return registry;
}
