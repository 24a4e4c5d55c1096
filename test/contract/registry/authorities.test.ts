import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callHttp } from '../../../runtime/http/call.ts';
import { httpRequest, textOf } from '../../../storage/registry/http.ts';

/** Both go by `beginRequest`; each names authorities in its own way, alone or besides those of the host. */
const CALLERS = [
  [
    'a registry',
    { isAlone: false },
    async (url: URL, ca: Buffer[]): Promise<string> => {
      const signal = AbortSignal.timeout(20_000);
      const answer = await httpRequest({ method: 'GET', url, trust: { ca, verified: true }, signal });
      return await textOf(answer, 100);
    },
  ],
  [
    'a receiver of logs',
    { isAlone: true },
    async (url: URL, ca: Buffer[]): Promise<string> => {
      const tls = ca.length === 0 ? {} : { ca };
      return (await callHttp(url, { method: 'GET', tls, timeoutMs: 20_000 })).text;
    },
  ],
] as const;

describe.each(CALLERS)('who may vouch for %s', (_caller, { isAlone }, call) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-authorities-'));
  const at = (name: string): string => path.join(folder, name);
  let server: Server;

  beforeAll(() => {
    for (const name of ['own', 'other']) {
      const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost'];
      const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
      const argv = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...subject, ...files];
      execFileSync('openssl', argv, { stdio: 'ignore' });
    }
  });
  // One each: who has been trusted once is trusted as long as his TLS session lasts.
  beforeEach(async () => {
    const identity = { key: readFileSync(at('own.key')), cert: readFileSync(at('own.pem')) };
    server = createServer(identity, (_, response) => response.end('here'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    delete process.env['SSL_CERT_FILE'];
    delete process.env['NODE_EXTRA_CA_CERTS'];
    server.closeAllConnections();
    server.close();
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const ask = async (ca: Buffer[] = []): Promise<string> => {
    // A listening TCP server has an address with a port.
    const { port } = server.address() as AddressInfo;
    return await call(new URL(`https://localhost:${port}/v2/`), ca);
  };

  it('nobody whom neither Node nor the host knows', async () => {
    await expect(ask()).rejects.toMatchObject({ message: expect.stringMatching(/self[- ]signed/) as string });
  });

  it.each(['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'])(
    'those of %s, read again when it changes',
    async (name) => {
      copyFileSync(at('other.pem'), at('bundle.pem'));
      process.env[name] = at('bundle.pem');
      await expect(ask()).rejects.toThrow(/self[- ]signed/);
      writeFileSync(at('bundle.pem'), readFileSync(at('own.pem')), { flag: 'a' });
      expect(await ask()).toBe('here');
    },
  );

  it(`those that the caller names, ${isAlone ? 'and nobody else' : 'besides the others'}`, async () => {
    expect(await ask([readFileSync(at('own.pem'))])).toBe('here');
    process.env['SSL_CERT_FILE'] = at('own.pem');
    const asked = ask([readFileSync(at('other.pem'))]);
    await (isAlone ? expect(asked).rejects.toThrow(/self[- ]signed/) : expect(asked).resolves.toBe('here'));
  });
});
