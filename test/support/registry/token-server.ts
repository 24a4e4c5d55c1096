/** A token server for docker-registry (distribution specification, token authentication). */
import { execFileSync } from 'node:child_process';
import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ACCOUNT } from './registry.ts';

/** Exchanged for tokens instead of the password. */
export const REFRESH_TOKEN = 'refresh-token-of-someone';

export class TokenServer implements AsyncDisposable {
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'berth-token-'));
  readonly #server: Server;
  /** The users that asked, with the scopes. */
  readonly asked: { account: string; scopes: string[] }[] = [];
  /** How long tokens are good for. */
  lifetimeS = 300;
  /** What an anonymous client may do. */
  anonymous = 'pull';

  static async start(): Promise<TokenServer> {
    const server = new TokenServer();
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve);
    });
    return server;
  }

  private constructor() {
    const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', this.#file('key.pem'), '-out', this.certificate];
    execFileSync('openssl', ['req', '-x509', '-days', '1', '-subj', '/CN=berth', ...key], {
      stdio: 'ignore',
    });
    this.#server = createServer((request, response) => {
      void this.#answer(request, response);
    });
  }

  /** PEM file for the registry's `rootcertbundle`. */
  get certificate(): string {
    return this.#file('certificate.pem');
  }

  get realm(): string {
    // A server that listens on an address has one.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/token`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #file(name: string): string {
    return path.join(this.#directory, name);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://token');
    const form = new URLSearchParams(request.method === 'POST' ? await textOf(request) : '');
    const account = accountOf(request.headers.authorization, form);
    const scopes = [...url.searchParams.getAll('scope'), ...(form.get('scope')?.split(' ') ?? [])];
    this.asked.push({ account: account ?? 'refused', scopes });
    if (account === undefined) {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ errors: [{ code: 'UNAUTHORIZED', message: 'authentication required' }] }),
      );
      return;
    }
    const token = this.#token(account, scopes);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ token, access_token: token }));
  }

  #token(account: string, scopes: readonly string[]): string {
    const now = Math.floor(Date.now() / 1000);
    const pem = readFileSync(this.certificate, 'utf8');
    const header = { typ: 'JWT', alg: 'RS256', x5c: [pem.replace(/-----[^-]+-----|\s/g, '')] };
    const claims = {
      iss: 'berth',
      sub: account,
      aud: 'berth',
      exp: now + this.lifetimeS,
      nbf: now - 60,
      iat: now,
      jti: randomUUID(),
      access: scopes.map((scope) => this.#access(account, scope)),
    };
    const text = `${encode(header)}.${encode(claims)}`;
    const key = createPrivateKey(readFileSync(this.#file('key.pem')));
    return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
  }

  /** `repository:name:pull,push`; names hold no colon here. */
  #access(account: string, scope: string): { type: string; name: string; actions: string[] } {
    const [type = '', name = '', actions = ''] = scope.split(':');
    const may = account === '' ? this.anonymous.split(',') : actions.split(',');
    return { type, name, actions: actions.split(',').filter((action) => may.includes(action)) };
  }
}

/** Empty for an anonymous client, undefined for one with wrong credentials. */
function accountOf(authorization: string | undefined, form: URLSearchParams): string | undefined {
  if (form.has('grant_type')) {
    return form.get('refresh_token') === REFRESH_TOKEN ? ACCOUNT.username : undefined;
  }
  if (authorization === undefined) {
    return '';
  }
  const expected = `Basic ${Buffer.from(`${ACCOUNT.username}:${ACCOUNT.password}`).toString('base64')}`;
  return authorization === expected ? ACCOUNT.username : undefined;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    // A request without an encoding yields Buffers.
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
