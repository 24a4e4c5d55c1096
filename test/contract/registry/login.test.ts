import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { login } from '../../../storage/registry/login.ts';
import { needs } from '../../support/needs.ts';
import { ACCOUNT, TestRegistry } from '../../support/registry/registry.ts';

const forEver = new AbortController().signal;
const certificateRoot = mkdtempSync(path.join(tmpdir(), 'berth-certs-'));
const deps = { settings: { insecure: [], mirrors: [] }, certificateRoots: [certificateRoot] };
const wrong = { ...ACCOUNT, password: 'guessed' };
const pem = (name: string): string => path.join(certificateRoot, name);
const loginAt = (domain: string, credentials = ACCOUNT): Promise<unknown> =>
  login(deps, domain, credentials, forEver);

needs('docker-registry')('login at a registry with basic authentication', () => {
  let registry: TestRegistry;
  beforeAll(async () => {
    registry = await TestRegistry.start({ port: 0, password: true });
  });
  afterAll(() => registry[Symbol.asyncDispose]());

  it('takes the right password, on loopback without TLS', async () => {
    expect(await loginAt(registry.address)).toEqual({ identityToken: '' });
  });

  it('refuses a wrong one in dockerd’s words', async () => {
    await expect(loginAt(registry.address, wrong)).rejects.toMatchObject({
      code: 'remote',
      message: `login attempt to http://${registry.address}/v2/ failed with status: 401 Unauthorized`,
    });
  });

  it('says so when nobody answers', async () => {
    await expect(loginAt('127.0.0.1:1')).rejects.toMatchObject({
      code: 'remote',
      message: 'Get "http://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused',
    });
  });
});

needs('docker-registry')('login at a registry behind TLS', () => {
  let registry: TestRegistry;
  beforeAll(async () => {
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=registry.test'].concat([
        '-addext',
        'subjectAltName=DNS:localhost',
        '-keyout',
        pem('k.pem'),
        '-out',
        pem('c.pem'),
      ]),
      { stdio: 'ignore' },
    );
    registry = await TestRegistry.start({
      port: 0,
      password: true,
      tls: { certificate: pem('c.pem'), key: pem('k.pem') },
    });
  });
  afterAll(() => registry[Symbol.asyncDispose]());

  it('trusts the authority in the directory of its name', async () => {
    const name = registry.address.replace('127.0.0.1', 'localhost');
    mkdirSync(pem(name));
    copyFileSync(pem('c.pem'), pem(`${name}/ca.crt`));
    expect(await loginAt(name)).toEqual({ identityToken: '' });
  });
});

describe('login at a registry with tokens', () => {
  const seen: { url: string; authorization: string | undefined; body: string }[] = [];
  let registry = '';
  const close: (() => void)[] = [];

  const answerToken = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    const { authorization } = request.headers;
    seen.push({ url: request.url ?? '', authorization, body });
    const right = `Basic ${Buffer.from('someone:secret').toString('base64')}`;
    const isRight = authorization === right || body.includes('refresh_token=refresh');
    const token = { token: 'bear', refresh_token: 'refresh' };
    response.statusCode = isRight ? 200 : 401;
    response.end(JSON.stringify(isRight ? token : { details: 'incorrect username or password' }));
  };
  const listen = async (handler: RequestListener): Promise<string> => {
    const server = createServer(handler);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    close.push(() => server.close());
    // A listening TCP server has an address with a port.
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  beforeAll(async () => {
    const tokens = await listen((request, response) => {
      void answerToken(request, response);
    });
    registry = await listen((request, response) => {
      if (request.headers.authorization === 'Bearer bear') {
        response.end('{}');
        return;
      }
      response.statusCode = 401;
      response.setHeader(
        'WWW-Authenticate',
        `Bearer realm="http://${tokens}/token",service="a \\"service\\""`,
      );
      response.end();
    });
  });
  afterAll(() => close.forEach((one) => one()));

  it('asks the realm for a token, and for one that replaces the password', async () => {
    expect(await loginAt(registry)).toEqual({ identityToken: 'refresh' });
    const url = new URL(seen.at(-1)?.url ?? '', 'http://tokens');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      service: 'a "service"',
      account: 'someone',
      offline_token: 'true',
      client_id: 'docker',
    });
  });

  it('uses an identity token in place of the password', async () => {
    const credentials = { username: '<token>', password: '', identityToken: 'refresh' };
    expect(await loginAt(registry, credentials)).toEqual({ identityToken: 'refresh' });
    expect(seen.at(-1)).toMatchObject({
      authorization: undefined,
      body: expect.stringContaining('grant_type=refresh_token') as string,
    });
  });

  it('tells the words of the token server when it refuses', async () => {
    await expect(loginAt(registry, wrong)).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringMatching(
        /^Get "http.*\/v2\/": unauthorized: incorrect username or password$/,
      ) as string,
    });
  });
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) {
    body += String(chunk);
  }
  return body;
}
