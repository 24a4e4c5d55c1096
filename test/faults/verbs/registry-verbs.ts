import path from 'node:path';
import { afterAll, expect } from 'vitest';
import { hostPlatform } from '../../../storage/image/platform.ts';
import type { ImageInspect } from '../../../api/types/image.ts';
import type { HttpClient } from '../../support/engine/http.ts';
import { imageTar } from '../../support/images/images.ts';
import {
  fileLayer,
  publish,
  publishIndex,
  publishStatements,
} from '../../support/registry/registry-content.ts';
import { TestRegistry } from '../../support/registry/registry.ts';
import type { Verb } from './verb.ts';
import { accept, unchanged } from '../victim.ts';

const PORT = 5000;
const NAME = `127.0.0.1:${PORT}/faulty`;

/** The rest of the way is that of `load`. */
const OWN = /^images\.p|^database\.(?:digest|manifest-list)/;

/** A registry in the network namespace of each daemon. */
const registries = new Map<HttpClient, TestRegistry>();
let pushed = 0;
let filled: Promise<TestRegistry> | undefined;

afterAll(async () => {
  await Promise.all([...registries.values()].map((registry) => registry[Symbol.asyncDispose]()));
  await (await filled)?.[Symbol.asyncDispose]();
});

/** What a registry is asked for and given. */
export const registryVerbs: readonly Verb[] = [
  {
    name: 'pull',
    only: OWN,
    checkRefused: unchanged,
    prepare: startRegistry,
    act: (http) => accept(http, 'POST', `/images/create?fromImage=${NAME}&tag=1`, [200]),
    verify: async (http) => {
      const { RepoTags, RepoDigests } = await http.ok<ImageInspect>('GET', `/images/${NAME}:1/json`);
      expect([RepoTags, RepoDigests.map((digest) => digest.split('@')[0])]).toEqual([[`${NAME}:1`], [NAME]]);
    },
    undo: async (http) => {
      await accept(http, 'DELETE', `/images/${NAME}:1?force=1`, [200, 404]);
    },
  },
  {
    name: 'push',
    only: OWN,
    checkRefused: unchanged,
    prepare: async (http) => {
      await startRegistry(http);
      // What the registry has from an attempt before would not be uploaded.
      pushed += 1;
      const image = imageTar([fileLayer('c', `${pushed}`)], { tags: [`${NAME}:2`] });
      await accept(http, 'POST', '/images/load?quiet=1', [200], image);
    },
    act: (http) => accept(http, 'POST', `/images/${NAME}/push?tag=2`, [200]),
    verify: async (http) => {
      const { RepoDigests } = await http.ok<ImageInspect>('GET', `/images/${NAME}:2/json`);
      expect(RepoDigests).toHaveLength(1);
    },
    undo: async (http) => {
      await accept(http, 'DELETE', `/images/${NAME}:2?force=1`, [200, 404]);
    },
  },
];

/** It stays for the next attempt. */
async function startRegistry(http: HttpClient): Promise<void> {
  if (registries.has(http)) {
    return;
  }
  // The daemon's scratch root is named like its namespace (TestDaemon).
  const netns = path.basename(path.dirname(http.socketPath)).replace('berth-test-', '/run/netns/');
  const store = await (filled ??= fill());
  const enter = (...argv: string[]): string[] => ['nsenter', `--net=${netns}`, ...argv];
  registries.set(http, await TestRegistry.start({ port: PORT, store, enter }));
}

/** A store with one image, made once; its registry ends with the tests of the file. */
async function fill(): Promise<TestRegistry> {
  const registry = await TestRegistry.start({ port: 0 });
  // One layer: each thread counts its failpoints by itself, and two layers would have two.
  const base = `http://${registry.address}`;
  const image = await publish(base, 'faulty:1', [fileLayer('a', 'one')], { oci: true });
  const said = await publishStatements(base, 'faulty', image, { 'https://slsa.dev/provenance/v1': {} });
  await publishIndex(base, 'faulty:1', [{ image, platform: { ...hostPlatform() } }, said]);
  return registry;
}
