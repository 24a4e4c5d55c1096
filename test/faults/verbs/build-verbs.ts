import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect } from 'vitest';
import type { ImageSummary } from '../../../api/types/image.ts';
import { until, type HttpClient } from '../../support/engine/http.ts';
import { tar } from '../../support/images/tar.ts';
import type { Verb } from './verb.ts';
import { accept, createVictim, NAME, nothing, publicView, removeVictim, unchanged } from '../victim.ts';

/** What makes images on this engine. */
export const buildVerbs: readonly Verb[] = [
  {
    name: 'commit',
    only: /^(?:containers\.commit|archives\.layer|database\.image|images\.load\.(?:layer|rename|sync|commit))/,
    checkRefused: unchanged,
    prepare: async (http) => {
      await createVictim(http);
      await accept(http, 'PUT', `/containers/${NAME}/archive?path=/`, [200], changed());
    },
    act: (http) => accept(http, 'POST', `/commit?container=${NAME}&repo=committed`, [201]),
    verify: (http) => accept(http, 'GET', '/images/committed/json', [200]),
    undo: async (http) => {
      await removeVictim(http);
      await removeNamed(http, 'committed');
    },
  },
  {
    name: 'build',
    // Containers, layers and rows are made as by other verbs.
    only: /^(?:images\.build|build\.context\.stream|archives\.place)/,
    checkRefused: unnamed,
    prepare: nothing,
    act: (http) => accept(http, 'POST', '/build?t=built&forcerm=1', [200], context()),
    verify: (http) => accept(http, 'GET', '/images/built/json', [200]),
    undo: async (http) => {
      // Of a step whose daemon was killed.
      await accept(http, 'POST', '/containers/prune', [200]);
      await removeNamed(http, 'built');
    },
  },
  {
    name: 'build of a repository with a file by URL',
    only: /^build\.context\.(?:git|cloned|file)/,
    checkRefused: unnamed,
    prepare: startWeb,
    act: (http) => accept(http, 'POST', `/build?t=built&forcerm=1&remote=${WEB}/r.git%23main`, [200]),
    verify: (http) => accept(http, 'GET', '/images/built/json', [200]),
    undo: (http) => removeNamed(http, 'built'),
  },
  {
    name: 'build of a context by URL',
    only: /^build\.context\.url/,
    checkRefused: unnamed,
    prepare: startWeb,
    act: (http) => accept(http, 'POST', `/build?t=built&forcerm=1&remote=${WEB}/context.tar`, [200]),
    verify: (http) => accept(http, 'GET', '/images/built/json', [200]),
    undo: (http) => removeNamed(http, 'built'),
  },
  {
    name: 'import from a URL',
    only: /^images\.import\./,
    checkRefused: unnamed,
    prepare: startWeb,
    act: (http) => accept(http, 'POST', `/images/create?fromSrc=${WEB}/context.tar&repo=built`, [200]),
    verify: (http) => accept(http, 'GET', '/images/built/json', [200]),
    undo: (http) => removeNamed(http, 'built'),
  },
];

const WEB = 'http://127.0.0.1:8088';
/** A web server in the network namespace of each daemon. */
const servers = new Map<HttpClient, ChildProcess>();
const files = mkdtempSync(path.join(tmpdir(), 'berth-faults-web-'));

afterAll(() => {
  servers.forEach((server) => server.kill('SIGKILL'));
  rmSync(files, { recursive: true, force: true });
});

/** It stays for the next attempt. */
async function startWeb(http: HttpClient): Promise<void> {
  if (servers.has(http)) {
    return;
  }
  if (readdirSync(files).length === 0) {
    fillWeb();
  }
  // The daemon's scratch root is named like its namespace (TestDaemon).
  const netns = path.basename(path.dirname(http.socketPath)).replace('berth-test-', '/run/netns/');
  const argv = [`--net=${netns}`, 'busybox', 'httpd', '-f', '-p', new URL(WEB).host, '-h', files];
  servers.set(http, spawn('nsenter', argv, { stdio: 'ignore' }));
  const ask = ['curl', '--silent', '--fail', '--noproxy', '*', '--output', '/dev/null', `${WEB}/added`];
  await until('the web server', () => spawnSync('nsenter', [`--net=${netns}`, ...ask]).status === 0);
}

/** A repository as files, a context, and a file that a build adds. */
function fillWeb(): void {
  const work = path.join(files, 'work');
  mkdirSync(work);
  writeFileSync(path.join(files, 'added'), 'added\n');
  writeFileSync(path.join(files, 'context.tar'), context());
  writeFileSync(path.join(work, 'Dockerfile'), `FROM busybox\nADD ${WEB}/added /f\n`);
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
  for (const args of [
    ['init', '--quiet', '--initial-branch=main'],
    ['add', '--all'],
    [...identity, 'commit', '--quiet', '--message=one'],
    ['clone', '--quiet', '--bare', '.', '../r.git'],
    ['--git-dir=../r.git', 'update-server-info'],
  ]) {
    execFileSync('git', args, { cwd: work, stdio: 'pipe' });
  }
}

/** Steps that went well before the failure are kept for the next build. */
async function unnamed(http: HttpClient): Promise<void> {
  await accept(http, 'GET', '/images/built/json', [404]);
  const { containers } = await publicView(http);
  expect(containers).toEqual([]);
}

function context(): Buffer {
  const dockerfile = 'FROM busybox\nCOPY f /f\nRUN echo x >/x\nFROM scratch\nCOPY --from=0 /x /y\n';
  return tar([
    { name: 'Dockerfile', content: dockerfile },
    { name: 'f', content: 'f' },
  ]);
}

/** The image, and those whose name a second attempt took away. */
async function removeNamed(http: HttpClient, name: string): Promise<void> {
  await accept(http, 'DELETE', `/images/${name}?force=1`, [200, 404]);
  const images = await http.ok<ImageSummary[]>('GET', '/images/json?filters={"dangling":["true"]}');
  for (const { Id } of images) {
    await accept(http, 'DELETE', `/images/${Id}?force=1`, [200, 404]);
  }
}

function changed(): Buffer {
  return tar([
    { name: 'deep/', mode: 0o700 },
    { name: 'deep/file', content: 'copied' },
  ]);
}
