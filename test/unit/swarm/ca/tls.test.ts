import { once } from 'node:events';
import { connect, createServer, TLSSocket, type Server } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createRoot, crossSign } from '../../../../swarm/ca/x509/issue.ts';
import { MANAGER, nodeOf, NOW, ROOT, WORKER } from '../../../support/swarm/authority.ts';

/** What OpenSSL makes of the certificates: handshakes as managers and nodes do them. */
interface Pair {
  cert: string;
  key: string;
}

const pairOf = (...[signer, identity]: Parameters<typeof nodeOf>): Pair => {
  const { certificate, keyPem } = nodeOf(signer, identity);
  return { cert: certificate.pem, key: keyPem };
};

const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

/** The result of a handshake: the client's common name as the server saw it, or why there was none. */
async function handshake(
  server: Pair,
  client: Pair,
  roots = { server: ROOT, client: ROOT },
): Promise<string> {
  const listening = createServer({
    ...server,
    ca: roots.server.certificate.pem,
    requestCert: true,
    rejectUnauthorized: true,
  });
  servers.push(listening);
  const seen = new Promise<string>((resolve) => {
    listening.once('secureConnection', (socket: TLSSocket) => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.end();
    });
    listening.once('tlsClientError', (error) => resolve(`server: ${error.message}`));
  });
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  const socket = connect({
    ...client,
    port,
    host: '127.0.0.1',
    servername: 'swarm-manager',
    ca: roots.client.certificate.pem,
  });
  const failed = new Promise<string>((resolve) => {
    socket.once('error', (error) => resolve(`client: ${error.message}`));
  });
  socket.resume();
  const result = await Promise.race([failed, seen]);
  socket.destroy();
  return result;
}

test('a worker and a manager meet, the manager being dialled by its role', async () => {
  expect(await handshake(pairOf(ROOT, MANAGER), pairOf(ROOT, WORKER))).toBe('node2');
});

test('a worker that poses as a manager is found out by its names', async () => {
  expect(await handshake(pairOf(ROOT, WORKER), pairOf(ROOT, WORKER))).toMatch(
    /^client: Hostname\/IP does not match/,
  );
});

test('a client under another root of the same name is refused', async () => {
  const foreign = createRoot(NOW);
  expect(await handshake(pairOf(ROOT, MANAGER), pairOf(foreign, WORKER))).toMatch(/^server: /);
});

test('112: nodes of both sides of a rotation meet, whichever root they trust', async () => {
  const next = createRoot(NOW);
  const crossed = crossSign(ROOT, next.certificate).pem;
  const renewed = (identity: typeof WORKER): Pair => {
    const { cert, key } = pairOf(next, identity);
    return { cert: cert + crossed, key };
  };
  const old = { server: ROOT, client: ROOT };
  expect(await handshake(renewed(MANAGER), pairOf(ROOT, WORKER), old)).toBe('node2');
  expect(await handshake(pairOf(ROOT, MANAGER), renewed(WORKER), old)).toBe('node2');
  expect(await handshake(renewed(MANAGER), renewed(WORKER), { server: next, client: ROOT })).toBe('node2');
  expect(await handshake(renewed(MANAGER), renewed(WORKER), { server: ROOT, client: next })).toBe('node2');
});
