/** Registries and downloads through proxies: who is asked for what, and what a client is told when a proxy says no. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Connections } from '../../../daemon/base/http/outgoing.ts';
import { callHttp } from '../../../runtime/http/call.ts';
import { download } from '../../../storage/downloads/download.ts';
import { httpRequest, textOf } from '../../../storage/registry/http.ts';
import { login } from '../../../storage/registry/login.ts';
import { ForwardProxy } from '../../support/registry/forward-proxy.ts';
import { imageTar } from '../../support/images/images.ts';
import { collect, ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { fileLayer } from '../../support/registry/registry-content.ts';
import { ACCOUNT, TestRegistry } from '../../support/registry/registry.ts';
import { WebServer } from '../../support/registry/web.ts';

/** Nobody is there (RFC 5737): who reaches it was led elsewhere. */
const FAR = '198.51.100.7';
const REGISTRY = `${FAR}:5000`;
const PASSWORD = 'pa%2Fss-word';
const VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'SSL_CERT_FILE'];
const signal = new AbortController().signal;
const folder = mkdtempSync(path.join(tmpdir(), 'berth-proxy-'));
const at = (name: string): string => path.join(folder, name);

function certificate(name: string, subject: string): { cert: string; key: string } {
  const argv = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', `/CN=${name}`];
  const more = [
    '-addext',
    `subjectAltName=${subject}`,
    '-keyout',
    at(`${name}.key`),
    '-out',
    at(`${name}.pem`),
  ];
  execFileSync('openssl', [...argv, ...more], { stdio: 'ignore' });
  return { key: readFileSync(at(`${name}.key`), 'utf8'), cert: readFileSync(at(`${name}.pem`), 'utf8') };
}

/** As the environment of the daemon; what a test does not say is not set. */
function environment(values: Record<string, string>): void {
  VARIABLES.forEach((name) => Reflect.deleteProperty(process.env, name));
  Object.assign(process.env, values);
}

async function get(address: string, connections?: Connections): Promise<string> {
  const trust = { ca: [Buffer.from(far.cert)], verified: true };
  const url = new URL(address);
  const request = { method: 'GET' as const, url, trust, signal, ...(connections && { connections }) };
  return await textOf(await httpRequest(request), 1000);
}

let far: { cert: string; key: string };
let near: { cert: string; key: string };
beforeAll(() => {
  far = certificate('far', `IP:${FAR}`);
  near = certificate('near', 'IP:127.0.0.1');
  mkdirSync(at(REGISTRY));
  copyFileSync(at('far.pem'), at(`${REGISTRY}/ca.crt`));
});
afterEach(() => environment({}));
afterAll(() => rmSync(folder, { recursive: true }));

describe.each<[string, { account?: string; isTls?: boolean }]>([
  ['a proxy', {}],
  ['a proxy with a password', { account: `someone:${PASSWORD}` }],
  ['a proxy behind TLS with a password', { account: `someone:${PASSWORD}`, isTls: true }],
])('%s', (_what, { account, isTls = false }) => {
  let web: WebServer;
  let secure: WebServer;
  let proxy: ForwardProxy;
  beforeAll(async () => {
    web = await WebServer.start('127.0.0.1');
    secure = await WebServer.start('127.0.0.1', far);
    for (const server of [web, secure]) {
      server.file('/there', 'what is there');
    }
    proxy = await ForwardProxy.start({
      routes: { [FAR]: web.host, 'web.test': web.host, [`${FAR}:443`]: secure.host },
      ...(account && { account: decodeURIComponent(account) }),
      ...(isTls && { tls: near }),
    });
  });
  beforeEach(() => {
    proxy.reset();
    web.asked.length = 0;
    const url = `${isTls ? 'https' : 'http'}://${account === undefined ? '' : `${account}@`}${proxy.host}`;
    environment({ HTTP_PROXY: url, HTTPS_PROXY: url, SSL_CERT_FILE: at('near.pem') });
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await web[Symbol.asyncDispose]();
    await secure[Symbol.asyncDispose]();
  });

  /** The web server by an address that is not loopback's to the rules, and yet leads to it. */
  const here = (pathname: string): string => web.url(pathname).replace('127.0.0.1', '0.0.0.0');
  it('is asked for the whole address, of a name that only it knows', async () => {
    expect(await get('http://someone:else@web.test/there?x=1')).toBe('what is there');
    expect(proxy.seen).toEqual(['GET http://web.test/there?x=1']);
    // What the URL says of accounts is the server's, what the proxy's says never is.
    expect(web.asked).toEqual([`GET /there Basic ${Buffer.from('someone:else').toString('base64')}`]);
  });

  it('makes one tunnel for the requests of an operation; the certificate is the server’s', async () => {
    using connections = new Connections(2);
    expect(await get(`https://${FAR}/there`, connections)).toBe('what is there');
    expect(await get(`https://${FAR}/there`, connections)).toBe('what is there');
    expect(proxy.seen).toEqual([`CONNECT ${FAR}:443`]);
    expect(await get(`https://${FAR}/there`)).toBe('what is there');
    expect(proxy.seen).toEqual([`CONNECT ${FAR}:443`, `CONNECT ${FAR}:443`]);
    const url = new URL(`https://${FAR}/there`);
    const asked = httpRequest({ method: 'GET', url, trust: { ca: [], verified: true }, signal });
    await expect(asked).rejects.toThrow(/self[- ]signed/);
  });

  it('keeps its connection for the requests of an operation in the clear too', async () => {
    using connections = new Connections(2);
    expect(await get('http://web.test/there', connections)).toBe('what is there');
    expect(await get('http://web.test/there', connections)).toBe('what is there');
    expect(proxy.seen).toEqual(['GET http://web.test/there', 'GET http://web.test/there']);
  });

  it('is not asked for what NO_PROXY names, nor for this machine', async () => {
    expect(await get(web.url('/there'))).toBe('what is there');
    process.env['NO_PROXY'] = 'web.test, 0.0.0.0/8';
    expect(await get(here('/there'))).toBe('what is there');
    expect(proxy.seen).toEqual([]);
    process.env['NO_PROXY'] = 'web.test, 0.0.0.0:1';
    expect(await get(here('/there'))).toBe('what is there');
    expect(proxy.seen).toEqual([`GET ${here('/there')}`]);
  });

  it('is chosen anew where a download is led', async () => {
    const { body } = await download(new URL(web.redirect('/here', 'http://web.test/there')), signal);
    expect(Buffer.concat(await collect(body)).toString()).toBe('what is there');
    expect(proxy.seen).toEqual(['GET http://web.test/there']);
  });

  it('passes what log drivers send, but not what belongs to this machine', async () => {
    const url = new URL(here('/there'));
    expect((await callHttp(url, { method: 'GET' })).text).toBe('what is there');
    expect((await callHttp(url, { method: 'GET', isDirect: true })).text).toBe('what is there');
    expect(proxy.seen).toEqual([`GET ${url.href}`]);
  });

  it.each([403, 407, 502])('that says %d to a tunnel is named, without its password', async (status) => {
    proxy.refuses = status;
    const name = `${isTls ? 'https' : 'http'}://${proxy.host}`;
    await expect(get(`https://${FAR}/there`)).rejects.toMatchObject({
      code: 'remote',
      message: expect.stringMatching(`^Get "https://${FAR}/there": proxy ${name}: ${status} \\w+`) as string,
      details: { retryable: status === 502 },
    });
  });

  it('that wants another password says so for a request in the clear', async () => {
    proxy.refuses = 407;
    const words = `proxy ${isTls ? 'https' : 'http'}://${proxy.host}: 407 Proxy Authentication Required`;
    await expect(get('http://web.test/there')).rejects.toMatchObject({
      code: 'remote',
      message: `Get "http://web.test/there": ${words}`,
    });
    await expect(callHttp(new URL('http://web.test/'), { method: 'GET' })).rejects.toThrow(words);
  });

  it('that does not answer is left with the request', async () => {
    proxy.isMute = true;
    for (const address of [`https://${FAR}/there`, 'http://web.test/there']) {
      const leaves = new AbortController();
      const url = new URL(address);
      const trust = { ca: [], verified: true };
      const asked = httpRequest({ method: 'GET', url, trust, signal: leaves.signal });
      proxy.reset();
      proxy.isMute = true;
      await expect.poll(() => proxy.seen).toHaveLength(1);
      leaves.abort();
      await expect(asked).rejects.toMatchObject({ code: 'canceled' });
    }
  });
});

describe('no way to a proxy', () => {
  it.each(['http://registry.test/v2/', 'https://registry.test/v2/'])('%s: names it', async (address) => {
    const proxy = 'http://someone:secret@127.0.0.1:1';
    environment({ HTTP_PROXY: proxy, HTTPS_PROXY: proxy });
    const trust = { ca: [], verified: true };
    await expect(httpRequest({ method: 'GET', url: new URL(address), trust, signal })).rejects.toMatchObject({
      code: 'remote',
      message: `Get "${address}": proxy http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused`,
      details: { retryable: true, errno: 'ECONNREFUSED' },
    });
  });

  it('a proxy behind TLS has to be vouched for by the host, not by a registry’s authority', async () => {
    await using proxy = await ForwardProxy.start({ tls: near });
    environment({ HTTPS_PROXY: proxy.url });
    const trust = { ca: [Buffer.from(near.cert)], verified: false };
    const asked = httpRequest({ method: 'GET', url: new URL(`https://${FAR}/`), trust, signal });
    await expect(asked).rejects.toThrow(/proxy https:.*self[- ]signed/);
  });
});

needs('docker-registry')('a registry behind a proxy', () => {
  let rig: ImagesRig;
  beforeAll(async () => {
    rig = await ImagesRig.create();
    rig.registry.settings = { insecure: [], mirrors: [] };
    rig.registry.certificateRoots = [folder];
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  it.each([false, true])('login, push and pull, with TLS: %s', async (isTls) => {
    const tls = { certificate: at('far.pem'), key: at('far.key') };
    await using registry = await TestRegistry.start({ port: 0, password: true, ...(isTls && { tls }) });
    await using proxy = await ForwardProxy.start({
      routes: { [REGISTRY]: registry.address },
      account: 'someone:secret',
    });
    environment({ HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url });
    rig.registry.settings = { insecure: isTls ? [] : [REGISTRY], mirrors: [] };
    const access = { settings: rig.registry.settings, certificateRoots: [folder] };
    expect(await login(access, REGISTRY, ACCOUNT, signal)).toEqual({ identityToken: '' });

    await rig.load(imageTar([fileLayer('a', Buffer.alloc(2 << 20, 'a'))], { tags: [`${REGISTRY}/app:1`] }));
    const asked = { auth: ACCOUNT, signal };
    const pushed = await collect(rig.images.push(`${REGISTRY}/app`, { ...asked, tag: '1' }));
    expect(pushed.at(-1)?.error).toBeUndefined();
    await rig.images.remove(`${REGISTRY}/app:1`, { force: true, noprune: false });
    const pulled = await collect(rig.images.pull({ name: `${REGISTRY}/app`, tag: '1', ...asked }));
    expect(pulled.at(-1)?.status).toContain('Downloaded newer image');
    await rig.images.remove(`${REGISTRY}/app:1`, { force: true, noprune: false });

    const kinds = new Set(proxy.seen.map((line) => line.split('/')[0]));
    // By TLS only tunnels; without, https is tried first.
    expect([...kinds].filter((kind) => !kind?.startsWith('CONNECT'))).toEqual(
      isTls ? [] : (expect.arrayContaining(['GET http:', 'POST http:', 'PUT http:']) as string[]),
    );
  });
});
