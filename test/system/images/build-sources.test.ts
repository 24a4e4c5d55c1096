import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { readBuilt, type Built } from '../../support/images/built.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { tar } from '../../support/images/tar.ts';
import { WebServer, type Certificate } from '../../support/registry/web.ts';

const UPLINK = 95;
const HOST = `10.${UPLINK}.0.1`;
const PLAIN = { 'content-type': 'text/plain; charset=utf-8' };
const TAR = { 'content-type': 'application/x-tar' };
const CONTEXT = tar([
  { name: 'Dockerfile', content: 'FROM busybox\nCOPY f /f\nRUN cat /f\n' },
  { name: 'f', content: 'from the web\n' },
]);
const directory = mkdtempSync(path.join(tmpdir(), 'berth-sources-'));
const TRUSTED = path.join(directory, 'trusted.crt');

/** Of this address, signed by itself. */
function certificate(name: string): Certificate {
  const [key, cert] = [path.join(directory, `${name}.key`), path.join(directory, `${name}.crt`)];
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=web';
  const argv = [...request.split(' '), '-addext', `subjectAltName=IP:${HOST}`, '-keyout', key, '-out', cert];
  execFileSync('openssl', argv, { stdio: 'ignore' });
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}

// What is trusted here is told to berthd.
const suite = onReference ? test.skip : test;

describeEngine(
  'build from what is not plain HTTP',
  (engine) => {
    let plain: WebServer;
    let web: WebServer;
    let stranger: WebServer;
    beforeAll(async () => {
      plain = await WebServer.start(HOST);
      web = await WebServer.start(HOST, certificate('trusted'));
      stranger = await WebServer.start(HOST, certificate('stranger'));
    });
    afterAll(async () => {
      for (const server of [plain, web, stranger]) {
        await server[Symbol.asyncDispose]();
      }
      rmSync(directory, { recursive: true });
    });
    afterEach(async () => {
      await engine.removeAll();
      await engine.removeImages();
    });

    async function build(query: string, body?: Buffer): Promise<Built> {
      return readBuilt(await engine.http.request('POST', `/build?${query}`, body && { body }));
    }
    const fromUrl = (url: string): ReturnType<typeof build> => build(`remote=${encodeURIComponent(url)}`);

    suite('https: a context, a file of ADD and an import come from whom SSL_CERT_FILE trusts', async () => {
      expect(await fromUrl(web.file('/c.tar', CONTEXT, TAR))).toMatchObject({
        error: '',
        text: expect.stringContaining('from the web\n'),
      });
      const add = `FROM busybox\nADD ${web.file('/added', 'by ADD\n')} /f\nRUN cat /f\n`;
      expect(await build('', tar([{ name: 'Dockerfile', content: add }]))).toMatchObject({
        error: '',
        text: expect.stringContaining('by ADD\n'),
      });
      const source = encodeURIComponent(web.file('/root.tar', tar([{ name: 'x', content: 'x' }]), TAR));
      const imported = await engine.http.request('POST', `/images/create?fromSrc=${source}&repo=tls&tag=1`);
      expect([imported.status, imported.text]).toEqual([200, expect.stringContaining('"status":"sha256:')]);
    });

    suite('https: nobody else is trusted, and nothing was asked of them', async () => {
      const { error } = await fromUrl(stranger.file('/c.tar', CONTEXT, TAR));
      expect(error).toMatch(/self[- ]signed certificate/);
      expect(stranger.asked).toEqual([]);
    });

    suite('class 21: https leads to https, never to an address without TLS', async () => {
      const before = plain.asked.length;
      const there = plain.file('/Dockerfile', 'FROM busybox\nRUN echo led astray\n', PLAIN);
      const { text, error } = await fromUrl(web.redirect('/down', there));
      expect({ text, error }).toEqual({
        text: '',
        error: expect.stringContaining('redirected to an address without TLS') as string,
      });
      expect(plain.asked.slice(before)).toEqual([]);
      const fine = web.file('/fine', 'FROM busybox\nRUN echo arrived\n', PLAIN);
      expect((await fromUrl(plain.redirect('/up', fine))).text).toContain('arrived\n');
    });

    suite('git://: a repository comes from git’s own server', async () => {
      await plain.repository(
        'own.git',
        { Dockerfile: 'FROM busybox\nCOPY f /f\nRUN cat /f\n', f: 'by git\n' },
        ['branch', 'master'],
      );
      const server = gitServer(plain.repositoryPath(''));
      try {
        await until('git daemon', () => answers(HOST, 9418));
        const { text, error } = await fromUrl(`git://${HOST}/own.git#main`);
        expect({ text, error }).toEqual({ text: expect.stringContaining('by git\n') as string, error: '' });
        expect((await fromUrl(`git://${HOST}/none.git`)).error).toContain('git');
      } finally {
        server.kill('SIGKILL');
      }
    });

    suite('ADD: an archive of zstd is unpacked like the others', async () => {
      const inner = execFileSync('zstd', ['-qc'], {
        input: tar([{ name: 'in/side', content: 'unpacked\n' }]),
      });
      const body = tar([
        { name: 'Dockerfile', content: 'FROM busybox\nADD a.tar.zst /to\nRUN cat /to/in/side\n' },
        { name: 'a.tar.zst', content: inner },
      ]);
      expect(await build('', body)).toMatchObject({
        error: '',
        text: expect.stringContaining('unpacked\n'),
      });
    });
  },
  { uplink: UPLINK, env: { SSL_CERT_FILE: TRUSTED } },
);

/** Not by `git daemon`, which would outlive its parent. */
function gitServer(base: string): ChildProcess {
  const program = path.join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-daemon');
  const argv = [
    '--export-all',
    '--reuseaddr',
    `--listen=${HOST}`,
    '--port=9418',
    `--base-path=${base}`,
    base,
  ];
  return spawn(program, argv, { stdio: 'ignore' });
}

async function answers(host: string, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
