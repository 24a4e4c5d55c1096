import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ImageInspect } from '../../../api/types/image.ts';
import { removeTree } from '../../support/engine/cleanup.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { debianRootfs } from '../../support/images/debian-rootfs.ts';
import { imageTree, type FileTree } from '../../support/images/file-tree.ts';
import { tar } from '../../support/images/tar.ts';
import { needs } from '../../support/needs.ts';
import { inTrixie } from '../../support/trixie.ts';

const run = promisify(execFile);
const PROJECTS = path.join(import.meta.dirname, 'dockerfiles');
const BASE = 'debian:base';
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
/** What a step writes with the time in it, or the name of the machine. */
const OF_THE_MOMENT =
  /^(?:etc\/(?:passwd|group|shadow|gshadow|subuid|subgid)-|var\/log\/(?:faillog|lastlog))$/;

/** Dockerfiles in the shape of known projects: both engines make the same image of each. */
needs(
  'root',
  'built',
  'docker-cli',
  'trixie',
  'debootstrap',
  'netns',
)('Dockerfiles of known projects, beside dockerd 26.1', () => {
  const folder = mkdtempSync('/tmp/berth-projects-');
  const daemons: TestDaemon[] = [];
  let base: FileTree;

  const docker = async (daemon: TestDaemon, ...args: string[]): Promise<string> => {
    const [file, ...rest] = inTrixie('docker', '--host', `unix://${daemon.paths.socket}`, ...args);
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
    return (await run(file, rest, { env, maxBuffer: OUTPUT_BYTES_MAX })).stdout.trim();
  };

  beforeAll(async () => {
    cpSync(PROJECTS, folder, { recursive: true });
    const page = { name: 'html/index.html', content: 'hello\n', mode: 0o644 };
    writeFileSync(`${folder}/nginx/html.tar`, tar([{ name: 'html/', type: '5', mode: 0o755 }, page]));
    const program = { name: 'caddy', content: '#!/bin/sh\n', mode: 0o644 };
    writeFileSync(`${folder}/caddy/release.tar.gz`, gzipSync(tar([program])));
    cpSync(debianRootfs().layers[0] ?? '', `${folder}/base.tar`);
    for (const engine of ['berthd', 'dockerd26'] as const) {
      const daemon = await TestDaemon.start({ engine });
      daemons.push(daemon);
      await docker(daemon, 'import', '--change', 'CMD ["bash"]', `${folder}/base.tar`, BASE);
    }
    const [berth] = daemons;
    base = berth === undefined ? new Map() : await imageTree(berth.http, BASE);
  }, 600_000);
  afterAll(async () => {
    for (const daemon of daemons) {
      await daemon[Symbol.asyncDispose]();
    }
    removeTree(folder);
  }, 600_000);

  /** What an image has that its base does not have, and the other way round; times do not count. */
  const changes = async (daemon: TestDaemon, name: string): Promise<Record<string, string>> => {
    const tree = await imageTree(daemon.http, name);
    const paths = [...new Set([...base.keys(), ...tree.keys()])].filter((one) => !OF_THE_MOMENT.test(one));
    const changed = paths.flatMap((one): [string, string][] => {
      const [before, after] = [untimed(base.get(one)), untimed(tree.get(one))];
      return before === after ? [] : [[one, after]];
    });
    return Object.fromEntries(changed.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  };

  const built = async (daemon: TestDaemon, name: string): Promise<object> => {
    if (daemon.engine !== 'berthd') {
      // It would pull the frontend, for which there is no network.
      const file = `${folder}/${name}/Dockerfile`;
      writeFileSync(file, readFileSync(file, 'utf8').replace(/^# syntax=.*/, '# as it is built in'));
    }
    await docker(daemon, 'build', '--quiet', '--network', 'none', '--tag', `${name}:1`, `${folder}/${name}`);
    const image = await daemon.http.ok<ImageInspect>('GET', `/images/${name}:1/json`);
    const history = await daemon.http.ok<{ CreatedBy: string; Comment: string }[]>(
      'GET',
      `/images/${name}:1/history`,
    );
    return {
      os: image.Os,
      architecture: image.Architecture,
      config: stated(image.Config ?? {}),
      // Of its own steps: what an import is called differs. How ports, checks and arguments are written does from one
      // version of BuildKit to the next.
      history: history
        .filter(({ Comment }) => Comment.startsWith('buildkit'))
        .map(({ CreatedBy }) => CreatedBy.replace(/^(EXPOSE|HEALTHCHECK|ARG) .*/s, '$1')),
      files: await changes(daemon, `${name}:1`),
    };
  };

  test.each(readdirSync(PROJECTS))(
    '%s',
    async (name) => {
      const [berth, dockerd] = daemons;
      if (berth === undefined || dockerd === undefined) {
        throw new Error('no engines');
      }
      const [ours, theirs] = [await built(berth, name), await built(dockerd, name)];
      expect(ours).toEqual(theirs);
    },
    600_000,
  );
});

/** Without the fourth word, which is the time of the last change. */
function untimed(described: string | undefined): string {
  return (described ?? 'nothing').split(' ').toSpliced(3, 1).join(' ');
}

/** What an image says of its containers; what is empty says nothing. */
function stated(config: object): object {
  const said = Object.entries(config).filter(([, value]) => {
    const isEmpty =
      value === null || value === '' || value === false || (Array.isArray(value) && value.length === 0);
    return !isEmpty;
  });
  return Object.fromEntries(said);
}
