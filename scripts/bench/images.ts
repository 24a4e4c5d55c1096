import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { HttpClient } from '../../test/support/engine/http.ts';
import { debianRootfs } from '../../test/support/images/debian-rootfs.ts';
import type { Workload } from './workload.ts';

const NAME = 'bench/debian:1';
const CREATED = '2024-01-01T00:00:00Z';

let folder: string | undefined;

/** A Debian root file system in four layers, through tarballs: loaded, saved and removed. */
export const imageWorkloads: readonly Workload[] = [
  {
    name: 'load',
    what: 'load of a Debian root file system, 500 MB in four layers',
    unit: 'ms',
    target: 0.6,
    rounds: 3,
    run: async ({ http }) => {
      const ms = await timed(() => load(http));
      await remove(http);
      return ms;
    },
  },
  {
    name: 'save',
    what: 'save of the same',
    unit: 'ms',
    target: 0.8,
    rounds: 3,
    prepare: loaded,
    run: ({ http }) => timed(() => drain(http, `/images/${NAME}/get`)),
  },
  {
    name: 'image-remove',
    what: 'removal of the same',
    unit: 'ms',
    target: 0.5,
    rounds: 3,
    run: async ({ http }) => {
      await load(http);
      return await timed(() => remove(http));
    },
  },
];

/** At the end of all workloads. */
export function forgetTarball(): void {
  if (folder !== undefined) {
    rmSync(folder, { recursive: true });
    folder = undefined;
  }
}

async function loaded({ http }: { http: HttpClient }): Promise<{ ids: string[]; end: () => Promise<void> }> {
  await load(http);
  return { ids: [], end: () => remove(http) };
}

async function load(http: HttpClient): Promise<void> {
  const { status, text } = await http.request('POST', '/images/load?quiet=1', {
    body: createReadStream(tarball(), { highWaterMark: 1024 * 1024 }),
  });
  if (status !== 200 || text.includes('errorDetail')) {
    throw new Error(`load: ${status} ${text.slice(-500)}`);
  }
}

async function remove(http: HttpClient): Promise<void> {
  await http.ok('DELETE', `/images/${NAME}?force=1`);
}

/** Reads an answer to its end and forgets it. */
async function drain(http: HttpClient, target: string): Promise<void> {
  const response = await http.open('GET', target);
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
  }
  if (response.statusCode !== 200 || bytes < 100_000_000) {
    throw new Error(`${target}: ${response.statusCode}, ${bytes} bytes`);
  }
}

/** The root file system as `docker save` gives it, written once per run of the bench. */
function tarball(): string {
  folder ??= mkdtempSync(path.join(tmpdir(), 'berth-bench-'));
  const file = path.join(folder, 'image.tar');
  if (!existsSync(file)) {
    writeTarball(folder, file, debianRootfs().layers);
  }
  return file;
}

function writeTarball(target: string, file: string, layers: readonly string[]): void {
  const members = layers.map((layer) => path.basename(layer));
  const config = {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    created: CREATED,
    config: { Cmd: ['/bin/bash'] },
    history: members.map((member) => ({ created: CREATED, created_by: member })),
    rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${sha256Of(layer)}`) },
  };
  const manifest = [{ Config: 'config.json', RepoTags: [NAME], Layers: members }];
  writeFileSync(path.join(target, 'config.json'), JSON.stringify(config));
  writeFileSync(path.join(target, 'manifest.json'), JSON.stringify(manifest));
  const from = [`--directory=${path.dirname(layers[0] ?? '')}`, ...members];
  const documents = [`--directory=${target}`, 'config.json', 'manifest.json'];
  execFileSync('tar', ['--create', `--file=${file}`, ...from, ...documents]);
}

function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

async function timed(task: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await task();
  return performance.now() - started;
}
