/** The daemon behind a proxy: what goes through it, what does not, and that nobody learns its password. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ProgressMessage } from '../../../api/types/image.ts';
import type { SystemInfo } from '../../../api/types/system.ts';
import { readBuilt, type Built } from '../../support/images/built.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { ForwardProxy } from '../../support/registry/forward-proxy.ts';
import { jsonLines, until } from '../../support/engine/http.ts';
import { TestRegistry } from '../../support/registry/registry.ts';
import { tar } from '../../support/images/tar.ts';
import { WebServer } from '../../support/registry/web.ts';

const UPLINK = 96;
const HOST = `10.${UPLINK}.0.1`;
const PORT = 3128;
const PROXY = `http://someone:secret@${HOST}:${PORT}`;
const SHOWN = `http://xxxxx:xxxxx@${HOST}:${PORT}`;
/** Nobody is there (RFC 5737): only the proxy knows better. */
const REGISTRY = '198.51.100.7:5000';
const OLD = `http://old:hunter2@${HOST}:1`;

/** The reference is older than its settings: there the environment says all. */
const SETUP = onReference
  ? { env: { HTTP_PROXY: PROXY, http_proxy: PROXY, HTTPS_PROXY: PROXY, NO_PROXY: HOST }, config: {} }
  : {
      env: { HTTP_PROXY: OLD, https_proxy: PROXY, no_proxy: HOST },
      config: { proxies: { 'http-proxy': PROXY, 'https-proxy': PROXY } },
    };

function errorOf(all: ProgressMessage[]): string {
  return all.find(({ error }) => error !== undefined)?.error ?? '';
}

describeEngine(
  'proxy',
  (engine) => {
    let web: WebServer;
    let registry: TestRegistry;
    let proxy: ForwardProxy;
    beforeAll(async () => {
      web = await WebServer.start(HOST);
      registry = await TestRegistry.start({ port: 0 });
      proxy = await ForwardProxy.start({
        address: HOST,
        port: PORT,
        account: 'someone:secret',
        routes: { [REGISTRY]: registry.address, 'web.test': web.host },
      });
    });
    beforeEach(() => proxy.reset());
    afterAll(async () => {
      await proxy[Symbol.asyncDispose]();
      await registry[Symbol.asyncDispose]();
      await web[Symbol.asyncDispose]();
    });

    const only = test.skipIf(onReference);
    const messages = async (method: string, path: string): Promise<ProgressMessage[]> => {
      const { text } = await engine.http.request(method, path, { headers: { 'x-registry-auth': 'e30=' } });
      return jsonLines(text) as ProgressMessage[];
    };
    const build = async (remote: string): Promise<Built> =>
      readBuilt(await engine.http.request('POST', `/build?nocache=1&remote=${encodeURIComponent(remote)}`));

    test('proxy: info shows it without the password', async () => {
      const { HttpProxy, HttpsProxy, NoProxy } = await engine.http.ok<SystemInfo>('GET', '/info');
      expect({ HttpProxy, HttpsProxy, NoProxy }).toEqual({
        HttpProxy: SHOWN,
        HttpsProxy: SHOWN,
        NoProxy: HOST,
      });
    });

    only('proxy: what the configuration says is stronger than the environment, with a warning', () => {
      const warned = engine.daemon
        .log()
        .split('\n')
        .filter((line) => line.includes('overriding existing proxy variable'))
        // The log of a daemon without a terminal is JSON.
        .map((line) => JSON.parse(line) as { name: string; oldValue: string; newValue: string });
      expect(warned).toMatchObject([
        { name: 'HTTP_PROXY', oldValue: `http://xxxxx:xxxxx@${HOST}:1`, newValue: SHOWN },
      ]);
    });

    test('push, pull and distribution go through the proxy', async () => {
      await engine.http.ok('POST', `/images/busybox:latest/tag?repo=${REGISTRY}/box&tag=1`);
      expect(errorOf(await messages('POST', `/images/${REGISTRY}/box/push?tag=1`))).toBe('');
      await engine.http.ok('DELETE', `/images/${REGISTRY}/box:1`);
      const pulled = await messages('POST', `/images/create?fromImage=${REGISTRY}/box&tag=1`);
      expect(errorOf(pulled)).toBe('');
      await engine.http.ok('GET', `/distribution/${REGISTRY}/box:1/json`);
      await engine.http.ok('DELETE', `/images/${REGISTRY}/box:1`);
      expect(proxy.seen).toEqual(
        expect.arrayContaining([
          `CONNECT ${REGISTRY}`,
          `PUT http://${REGISTRY}/v2/box/manifests/1`,
          expect.stringMatching(`^(GET|HEAD) http://${REGISTRY}/v2/box/manifests/1$`),
        ]),
      );
    });

    test('downloads go through the proxy: import, ADD, contexts, repositories', async () => {
      web.file('/root.tar', tar([{ name: 'f', content: 'f' }]));
      const source = encodeURIComponent('http://web.test/root.tar');
      expect(errorOf(await messages('POST', `/images/create?fromSrc=${source}&repo=fetched&tag=1`))).toBe('');
      await engine.http.ok('DELETE', '/images/fetched:1');

      web.file('/added', 'from the web\n');
      const dockerfile = 'FROM busybox\nADD http://web.test/added /added\nRUN cat /added\n';
      web.file('/Dockerfile', dockerfile, { 'content-type': 'text/plain' });
      const built = await build('http://web.test/Dockerfile');
      expect(built.text).toContain('from the web\n');

      await web.repository('simple.git', { Dockerfile: 'FROM busybox\nRUN echo cloned\n' }, [
        'branch',
        'master',
      ]);
      const cloned = await build('http://web.test/git/simple.git');
      expect(cloned.text).toContain('cloned\n');
      expect(proxy.seen).toEqual(
        expect.arrayContaining([
          'GET http://web.test/root.tar',
          'GET http://web.test/Dockerfile',
          'GET http://web.test/added',
          'GET http://web.test/git/simple.git/info/refs?service=git-upload-pack',
        ]),
      );
    });

    test('proxy: what NO_PROXY names is asked directly, by git too', async () => {
      const url = web.file('/direct', 'FROM busybox\nRUN echo direct\n', { 'content-type': 'text/plain' });
      expect((await build(url)).error).toBe('');
      const files = { Dockerfile: 'FROM busybox\nRUN echo cloned\n' };
      const repository = await web.repository('near.git', files, ['branch', 'master']);
      expect((await build(repository)).error).toBe('');
      expect(proxy.seen).toEqual([]);
    });

    only('proxy: one that says no is named to the client', async () => {
      proxy.refuses = 407;
      const named = `proxy http://${HOST}:${PORT}: 407 Proxy Authentication Required`;
      const { status, text } = await engine.http.request(
        'POST',
        `/images/create?fromImage=${REGISTRY}/box&tag=1`,
      );
      expect({ status, text }).toEqual({ status: 500, text: expect.stringContaining(named) as string });
      const built = await engine.http.request('POST', '/build?remote=http%3A%2F%2Fweb.test%2FDockerfile');
      expect(built).toMatchObject({ status: 500, text: expect.stringContaining(named) as string });
      const cloned = await engine.http.request('POST', '/build?remote=http%3A%2F%2Fweb.test%2Fgit%2Fa.git');
      expect(cloned.text).toMatch(/407.*through the proxy http:\/\/10/);
      proxy.refuses = 403;
      const refused = await engine.http.request('POST', '/build?remote=http%3A%2F%2Fweb.test%2FDockerfile');
      expect(refused.text).toContain(
        `403 Forbidden (through the proxy http://${HOST}:${PORT}): the proxy says no`,
      );
    });

    only('proxy: another one counts from the next start on', async () => {
      engine.daemon.configure({ proxies: { 'http-proxy': 'http://other:hunter3@proxy.test' } });
      process.kill(engine.daemon.pid, 'SIGHUP');
      await until('the reload', () => engine.daemon.log().includes('configuration read again'));
      expect(engine.daemon.log()).toContain('"needRestart":["http-proxy","https-proxy"]');
      expect(await engine.http.ok('GET', '/info')).toMatchObject({ HttpProxy: SHOWN });
    });

    test('class 21: no password of a proxy is in the log', () => {
      expect(engine.daemon.log()).not.toMatch(/secret|hunter/);
    });
  },
  {
    uplink: UPLINK,
    env: SETUP.env,
    config: { ...SETUP.config, 'insecure-registries': ['198.51.100.0/24'] },
    alsoNeeds: ['docker-registry'],
  },
);
