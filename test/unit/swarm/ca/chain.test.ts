import { sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { authorise, blockedUntil, type Rule } from '../../../../swarm/ca/authorise.ts';
import { verifyChain } from '../../../../swarm/ca/chain.ts';
import { identityOf } from '../../../../swarm/ca/identity.ts';
import { readCertificate } from '../../../../swarm/ca/x509/certificate.ts';
import {
  bitString,
  context,
  integer,
  oid,
  sequence,
  setOf,
  time,
  utf8String,
} from '../../../../swarm/ca/x509/der-write.ts';
import {
  authorityExtensions,
  encodeExtension,
  nodeExtensions,
} from '../../../../swarm/ca/x509/extensions.ts';
import { createRoot, crossSign } from '../../../../swarm/ca/x509/issue.ts';
import { signerOf } from '../../../../swarm/ca/x509/signer.ts';
import { encodeSubject } from '../../../../swarm/ca/x509/subject.ts';
import {
  DAY_MS,
  MANAGER,
  nodeOf,
  NOW,
  oddCertificate,
  ROOT,
  WORKER,
} from '../../../support/swarm/authority.ts';

const rules = { roots: [ROOT.certificate], now: NOW };
const attribute = (type: string, value: string): Buffer => setOf(sequence(oid(type), utf8String(value)));
const utc = (ms: number): string => new Date(ms).toUTCString();
const RULE: Rule = { cluster: 'cluster1', roles: ['swarm-worker', 'swarm-manager'], blocked: new Map() };

describe('verifyChain()', () => {
  test("a node's certificate under the root", () => {
    const { certificate } = nodeOf(ROOT, WORKER);
    const chain = verifyChain(certificate.pem, rules);
    expect([chain.leaf.pem, chain.issuer.pem]).toEqual([certificate.pem, ROOT.certificate.pem]);
  });

  test('under a new root: followed through the cross-signed one, or at once by whoever trusts the new one', () => {
    const next = createRoot(NOW);
    const crossed = crossSign(ROOT, next.certificate);
    const { certificate } = nodeOf(next, WORKER);
    const bundle = certificate.pem + crossed.pem;
    expect(verifyChain(bundle, rules).issuer.pem).toBe(crossed.pem);
    expect(verifyChain(bundle, { ...rules, roots: [next.certificate] }).issuer.publicKey).toEqual(
      crossed.publicKey,
    );
    expect(() => verifyChain(certificate.pem, rules)).toThrow('certificate signed by unknown authority');
  });

  test('another root of the same name, and another order, are refused', () => {
    const { certificate } = nodeOf(createRoot(NOW), MANAGER);
    expect(() => verifyChain(certificate.pem, rules)).toThrow('certificate signed by unknown authority');
    expect(() => verifyChain(ROOT.certificate.pem + nodeOf(ROOT, WORKER).certificate.pem, rules)).toThrow(
      'certificates do not form a chain: (1 - swarm-ca) is not signed by (2 - node2)',
    );
    expect(() => verifyChain('', rules)).toThrow('no certificates to validate');
    expect(() => verifyChain(ROOT.certificate.pem.repeat(9), rules)).toThrow(
      'a chain of 9 certificates: at most 8',
    );
  });

  test('a node that signs another certificate is no authority', () => {
    const node = nodeOf(ROOT, WORKER);
    const forged = nodeOf(signerOf(node.certificate, node.keyPem), MANAGER);
    expect(() => verifyChain(forged.certificate.pem + node.certificate.pem, rules)).toThrow(
      'certificates do not form a chain: (1 - node1) is not signed by (2 - node2)',
    );
    expect(() => verifyChain(forged.certificate.pem, { ...rules, roots: [node.certificate] })).toThrow(
      'certificate signed by unknown authority',
    );
  });

  test('a signature with SHA-1 counts for nothing', () => {
    const { publicKey, rawSubject, keyId } = ROOT.certificate;
    const algorithm = sequence(oid('1.2.840.10045.4.1'));
    const body = sequence(
      context(0, integer(2n), 'constructed'),
      integer(1n),
      algorithm,
      rawSubject,
      sequence(time(NOW - DAY_MS), time(NOW + DAY_MS)),
      encodeSubject({ commonName: 'node1', unit: 'swarm-manager', organization: 'cluster1' }),
      publicKey,
      context(
        3,
        sequence(...nodeExtensions({ names: ['node1'], addresses: [] }, { own: keyId, issuer: keyId })),
        'constructed',
      ),
    );
    const weak = readCertificate(sequence(body, algorithm, bitString(sign('sha1', body, ROOT.key))));
    expect(weak.isStronglySigned).toBe(false);
    expect(() => verifyChain(weak.pem, rules)).toThrow('certificate signed by unknown authority');
  });

  test('a root that has expired is trusted no more', () => {
    const { rawSubject, publicKey, keyId } = ROOT.certificate;
    const extensions = authorityExtensions({ own: keyId, issuer: keyId });
    const parts = { issuer: rawSubject, subject: rawSubject, publicKey, extensions, until: NOW - 1000 };
    const roots = [oddCertificate(ROOT.key, parts)];
    expect(() => verifyChain(nodeOf(ROOT, WORKER).certificate.pem, { ...rules, roots })).toThrow(
      /^certificate \(2 - swarm-ca\) not valid after /,
    );
  });

  test('109: an expired certificate is refused to a worker, and let through to a manager that renews its own', () => {
    const { certificate } = nodeOf(ROOT, MANAGER, { expiryMs: DAY_MS });
    const later = { ...rules, now: NOW + 2 * DAY_MS };
    expect(() => verifyChain(certificate.pem, later)).toThrow(
      `certificate (1 - node1) not valid after ${utc(certificate.validUntil)}, and it is currently ${utc(later.now)}`,
    );
    expect(verifyChain(certificate.pem, { ...later, allowExpired: true }).leaf.pem).toBe(certificate.pem);
  });

  test('109: a clock two hours behind is told, also where expiry is let through', () => {
    const { certificate } = nodeOf(ROOT, WORKER);
    const now = NOW - 2 * 3_600_000;
    expect(() => verifyChain(certificate.pem, { ...rules, now, allowExpired: true })).toThrow(
      /^certificate \(1 - node2\) not valid before .* GMT, and it is currently .* GMT$/,
    );
  });
});

describe('attacks on certificates', () => {
  const worker = nodeOf(ROOT, WORKER).certificate;

  test('110: a worker on a call of managers is refused', () => {
    expect(authorise(worker, RULE)).toEqual(WORKER);
    expect(() => authorise(worker, { ...RULE, roles: ['swarm-manager'] })).toThrow(
      expect.objectContaining({
        code: 'forbidden',
        message: 'Permission denied: remote certificate not part of OUs: [swarm-manager]',
      }),
    );
  });

  test('111: a removed node is refused until a week after its certificate has expired', () => {
    const blocked = new Map([['node2', blockedUntil(worker)]]);
    expect(() => authorise(worker, { ...RULE, blocked })).toThrow(
      'Permission denied: node node2 was removed from swarm',
    );
    expect(blocked.get('node2')).toBe(worker.validUntil + 7 * DAY_MS);
  });

  test('a certificate of another cluster under the same root is refused', () => {
    expect(() => authorise(worker, { ...RULE, cluster: 'cluster2' })).toThrow(
      'Permission denied: remote certificate not part of organization: cluster2',
    );
  });

  test.each([
    ['the root itself', ROOT.certificate],
    ['a cross-signed root', crossSign(ROOT, createRoot(NOW).certificate)],
    ['a node without a role', nodeOf(ROOT, { ...WORKER, role: '' as 'swarm-worker' }).certificate],
    ['a role of another name', nodeOf(ROOT, { ...WORKER, role: 'swarm-ca' as 'swarm-worker' }).certificate],
    ['a node without an id', nodeOf(ROOT, { ...WORKER, node: '' }).certificate],
  ])('%s is no node', (_title, certificate) => {
    expect(identityOf(certificate)).toBeUndefined();
    expect(() => authorise(certificate, RULE)).toThrow(
      'Permission denied: remote certificate is none of a node',
    );
  });

  test.each([
    ['for a server alone', ['1.3.6.1.5.5.7.3.1'], 1],
    ['for a client alone', ['1.3.6.1.5.5.7.3.2'], 1],
    ['with two roles', ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'], 2],
  ])('a certificate %s, which an external authority may give, is none of a node', (_title, uses, roles) => {
    const { rawSubject, publicKey } = ROOT.certificate;
    const units = ['swarm-worker', 'swarm-manager'].slice(0, roles);
    const subject = sequence(
      attribute('2.5.4.10', 'cluster1'),
      ...units.map((unit) => attribute('2.5.4.11', unit)),
      attribute('2.5.4.3', 'node2'),
    );
    const extensions = [encodeExtension('extendedKeyUsage', sequence(...uses.map(oid)))];
    const certificate = oddCertificate(ROOT.key, { issuer: rawSubject, subject, publicKey, extensions });
    expect(verifyChain(certificate.pem, rules).leaf.pem).toBe(certificate.pem);
    expect(() => authorise(certificate, RULE)).toThrow(
      'Permission denied: remote certificate is none of a node',
    );
  });

  test('an id with the parts of a subject in it stays one id', () => {
    const odd = { ...WORKER, node: 'node2\nOU=swarm-manager,OU=swarm-manager' };
    expect(identityOf(nodeOf(ROOT, odd).certificate)).toEqual(odd);
  });
});
