import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Identity } from '../../../swarm/ca/identity.ts';
import type { RootState } from '../../../swarm/ca/roots/root.ts';
import { onlyCertificate } from '../../../swarm/ca/roots/root.ts';
import { issueNodeCertificate } from '../../../swarm/ca/x509/issue.ts';
import { signerOf, type Signer } from '../../../swarm/ca/x509/signer.ts';
import { put } from '../../../swarm/objects/parts.ts';
import { needs } from '../../support/needs.ts';
import { DAY_MS, nodeOf, NOW, WORKER } from '../../support/swarm/authority.ts';
import { changeRoot, failed, NodeHosts, roleOf, SLOW } from '../../support/swarm/node-hosts.ts';

let hosts: NodeHosts;
let server: Server | undefined;
beforeEach(() => {
  hosts = new NodeHosts();
});
afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  await hosts[Symbol.asyncDispose]();
});

interface Asked {
  certificate_request: string;
  subject: { CN: string; names: { OU: Identity['role']; O: string }[] };
}

/** An authority beside the swarm that has its root's key; its address. */
async function authorityWith(root: Signer, asked: Asked[]): Promise<string> {
  const { certificate, keyPem } = nodeOf(root, { ...WORKER, node: 'localhost' });
  const ca = root.certificate.pem;
  server = createServer(
    { cert: certificate.pem, key: keyPem, ca, requestCert: true },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString()) as Asked;
        asked.push(body);
        const [names] = body.subject.names;
        const identity: Identity = { node: body.subject.CN, role: names!.OU, cluster: names!.O };
        const life = { now: NOW, expiryMs: DAY_MS };
        const { pem } = issueNodeCertificate(root, body.certificate_request, identity, life);
        response.end(JSON.stringify({ success: true, result: { certificate: pem }, errors: [] }));
      });
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `https://localhost:${(server.address() as AddressInfo).port}/sign`;
}

needs('root', 'etcd')('an external CA', () => {
  test('113: takes the key of the root, signs what nodes ask for, and gives the key back', SLOW, async () => {
    const one = await hosts.first();
    const { cluster, authority } = one.manager.context;
    // The concrete one has it: nothing of it is for clients.
    const whole = authority as typeof authority & { root(): RootState };
    const before = whole.root();
    const signer = signerOf(onlyCertificate(before.certPem), before.keyPem!);
    const asked: Asked[] = [];
    const url = await authorityWith(signer, asked);

    const away = { signingCertPem: before.certPem, forceRotate: 0 };
    expect(
      await failed(changeRoot(one, { wish: { ...away, externals: [{ url: 'https://localhost:1' }] } })),
    ).toBe(
      'invalid_argument: there must be at least one valid, reachable external CA corresponding to the ' +
        'desired CA certificate',
    );
    await changeRoot(one, { wish: { ...away, externals: [{ url }] } });
    const record = cluster.state.cluster!;
    const CAConfig = { ExternalCAs: [{ Protocol: 'cfssl', URL: url }] };
    await cluster.commit({
      conditions: [],
      parts: [put('cluster', { ...record, spec: { ...record.spec, CAConfig } })],
    });
    expect(whole.root()).toMatchObject({ certPem: before.certPem, tokens: before.tokens });
    expect(whole.root().keyPem).toBeUndefined();

    const worker = await hosts.joined(one, 'worker');
    const manager = await hosts.joined(one, 'manager');
    expect([worker, manager].map(roleOf)).toEqual(['active worker', 'active manager']);
    expect(asked.map(({ subject }) => [subject.CN, subject.names[0]?.OU])).toEqual([
      [worker.id, 'swarm-worker'],
      [manager.id, 'swarm-manager'],
    ]);

    await changeRoot(one, {
      wish: { signingCertPem: before.certPem, signingKeyPem: before.keyPem!, forceRotate: 0, externals: [] },
    });
    expect(whole.root().keyPem).toBe(before.keyPem);
    await hosts.joined(one, 'worker');
    expect(asked).toHaveLength(2);
  });
});
