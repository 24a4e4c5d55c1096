import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import type { Identity } from '../../../../swarm/ca/identity.ts';
import { ExternalCa } from '../../../../swarm/ca/roots/external-ca.ts';
import { readCertificates } from '../../../../swarm/ca/x509/certificate.ts';
import { createRoot, crossSign, issueNodeCertificate } from '../../../../swarm/ca/x509/issue.ts';
import { createRequest } from '../../../../swarm/ca/x509/request.ts';
import { DAY_MS, MANAGER, nodeOf, NOW, ROOT, WORKER } from '../../../support/swarm/authority.ts';

const LIFE = { now: NOW, expiryMs: DAY_MS };
const OWN = nodeOf(ROOT, MANAGER);
const TLS = { certPem: OWN.certificate.pem, keyPem: OWN.keyPem, rootsPem: ROOT.certificate.pem };
const RULES = { now: NOW, intermediatesPem: '' };
const { requestPem } = createRequest();

interface Asked {
  certificate_request: string;
  hosts: string[];
  subject: { CN: string; names: { OU?: string; O?: string }[] };
  profile?: string;
  extensions?: unknown;
}

const servers: Server[] = [];
afterEach(() =>
  servers.splice(0).forEach((server) => {
    server.closeAllConnections();
    server.close();
  }),
);

/** An authority that asks for a certificate of the swarm and answers as it is told; its address. */
async function authority(
  answer: (asked: Asked, response: ServerResponse, request: IncomingMessage) => void,
): Promise<string> {
  const { certificate, keyPem } = nodeOf(ROOT, { ...WORKER, node: 'localhost' });
  const tls = { cert: certificate.pem, key: keyPem, ca: ROOT.certificate.pem, requestCert: true };
  const server = createServer(tls, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(JSON.parse(Buffer.concat(chunks).toString()) as Asked, response, request));
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `https://localhost:${(server.address() as AddressInfo).port}/api/v1/cfssl/authsign`;
}

const says = (value: unknown) => (_asked: Asked, response: ServerResponse) => {
  response.end(typeof value === 'string' ? value : JSON.stringify(value));
};
const gives = (certificate: string): unknown => ({ success: true, result: { certificate }, errors: [] });
const certificateFor = (identity: Identity, request = requestPem, root = ROOT): string =>
  issueNodeCertificate(root, request, identity, LIFE).pem;

test('113: an authority is asked as cfssl is, with the certificate of this node', async () => {
  let seen: unknown;
  const url = await authority((asked, response, request) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    seen = { client: subject.CN, method: request.method, type: request.headers['content-type'], asked };
    response.end(JSON.stringify(gives(certificateFor(WORKER, asked.certificate_request))));
  });
  const ca = new ExternalCa([url], TLS);
  const bundle = await ca.sign(requestPem, WORKER, RULES);
  expect(readCertificates(bundle).map(({ subject }) => subject.commonName)).toEqual(['node2']);
  expect(seen).toEqual({
    client: 'node1',
    method: 'POST',
    type: 'application/json',
    asked: {
      certificate_request: requestPem,
      hosts: ['swarm-worker', 'node2'],
      subject: { CN: 'node2', names: [{ OU: 'swarm-worker', O: 'cluster1' }] },
    },
  });
  expect(await ca.isReachable()).toBe(true);
});

test('113: the next authority is asked when the first cannot be', async () => {
  const url = await authority(says(gives(certificateFor(WORKER))));
  expect(await new ExternalCa(['https://localhost:1/', url], TLS).sign(requestPem, WORKER, RULES)).toContain(
    'BEGIN',
  );
});

test.each<[string, Parameters<typeof authority>[0], string, RegExp]>([
  [
    'a refusal',
    says({ success: false, errors: [{ code: 1, message: 'no' }] }),
    'failed_precondition',
    /^response errors: no$/,
  ],
  [
    'a refusal without a word',
    says({ success: false }),
    'failed_precondition',
    /^certificate signing request failed$/,
  ],
  ['null', says('null'), 'failed_precondition', /^certificate signing request failed$/],
  ['no JSON', says('<html>'), 'unavailable', /^unable to parse JSON response: /],
  [
    'an error of its server',
    (_asked, response) => void response.writeHead(500).end('x'),
    'unavailable',
    /unexpected status code in CSR response: 500$/,
  ],
  [
    'a redirect',
    (_asked, response) => void response.writeHead(302, { location: 'https://localhost/' }).end(),
    'unavailable',
    /302$/,
  ],
  [
    'a huge answer',
    says(JSON.stringify(gives('x'.repeat(300_000)))),
    'unavailable',
    /the answer has more than 262144 bytes$/,
  ],
  [
    'an end in the middle',
    (_asked, response) => void response.socket?.destroy(),
    'unavailable',
    /^unable to perform/,
  ],
  [
    'another role',
    says(gives(certificateFor({ ...WORKER, role: 'swarm-manager' }))),
    'failed_precondition',
    /another certificate/,
  ],
  [
    'another node',
    says(gives(certificateFor({ ...WORKER, node: 'x' }))),
    'failed_precondition',
    /another certificate/,
  ],
  [
    'another cluster',
    says(gives(certificateFor({ ...WORKER, cluster: 'x' }))),
    'failed_precondition',
    /another certificate/,
  ],
  [
    'another key',
    says(gives(nodeOf(ROOT, WORKER).certificate.pem)),
    'failed_precondition',
    /another certificate/,
  ],
  ['an authority', says(gives(ROOT.certificate.pem)), 'failed_precondition', /another certificate/],
  [
    'one of another root',
    says(gives(certificateFor(WORKER, requestPem, createRoot(NOW)))),
    'failed_precondition',
    /certificate signed by unknown authority$/,
  ],
  ['no certificate', says(gives('x')), 'failed_precondition', /no certificates to validate$/],
])('113: an authority that answers with %s', async (_title, answer, code, message) => {
  const url = await authority(answer);
  await expect(new ExternalCa([url], TLS).sign(requestPem, WORKER, RULES)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  });
});

test('113: an authority that never answers is given up', async () => {
  const url = await authority(() => {});
  await expect(new ExternalCa([url], TLS, 300).sign(requestPem, WORKER, RULES)).rejects.toMatchObject({
    code: 'unavailable',
  });
});

test('113: an authority whose server is under another root is not spoken to', async () => {
  const url = await authority(says(gives(certificateFor(WORKER))));
  const ca = new ExternalCa([url], { ...TLS, rootsPem: createRoot(NOW).certificate.pem });
  await expect(ca.sign(requestPem, WORKER, RULES)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await ca.isReachable()).toBe(false);
});

test('113: addresses without TLS are refused, and no address is none', async () => {
  for (const url of ['http://localhost/', 'localhost', '']) {
    expect(() => new ExternalCa([url], TLS)).toThrow(`external CA ${url}: invalid HTTP scheme`);
  }
  await expect(new ExternalCa([], TLS).sign(requestPem, WORKER, RULES)).rejects.toThrow(
    'no external CA URLs',
  );
  expect(await new ExternalCa([], TLS).isReachable()).toBe(false);
});

test('112: the authority of the present root cross-signs the next', async () => {
  const next = createRoot(NOW);
  let seen: unknown;
  const url = await authority(({ certificate_request: _request, ...asked }, response) => {
    seen = asked;
    response.end(JSON.stringify(gives(crossSign(ROOT, next.certificate).pem)));
  });
  const crossed = await new ExternalCa([url], TLS).crossSign(next);
  expect(crossed.openssl.verify(ROOT.certificate.openssl.publicKey)).toBe(true);
  expect(seen).toEqual({
    hosts: [],
    subject: { CN: 'swarm-ca', names: [] },
    profile: 'CA',
    extensions: [{ id: '2.5.29.19', critical: true, value: '30030101ff' }],
  });
  const other = await authority(says(gives(crossSign(ROOT, createRoot(NOW).certificate).pem)));
  await expect(new ExternalCa([other], TLS).crossSign(next)).rejects.toMatchObject({
    code: 'failed_precondition',
  });
});
