import { createPublicKey, generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import { identityOf } from '../../../../swarm/ca/identity.ts';
import { context, element, integer, oid, sequence, setOf, TAG } from '../../../../swarm/ca/x509/der-write.ts';
import { authorityExtensions, encodeExtension, keyIdOf } from '../../../../swarm/ca/x509/extensions.ts';
import { createRoot, crossSign, issueNodeCertificate } from '../../../../swarm/ca/x509/issue.ts';
import { writePem } from '../../../../swarm/ca/x509/pem.ts';
import { createRequest, readRequest } from '../../../../swarm/ca/x509/request.ts';
import { signed } from '../../../../swarm/ca/x509/sign.ts';
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

const spkiOf = (key: KeyObject): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' });
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

function requestWith(key: KeyObject, subject: Buffer, extensions: Buffer[] = []): string {
  const attributes =
    extensions.length === 0
      ? Buffer.alloc(0)
      : sequence(oid(EXTENSION_REQUEST), setOf(sequence(...extensions)));
  const body = sequence(integer(0n), subject, spkiOf(key), context(0, attributes, 'constructed'));
  return writePem(
    'CERTIFICATE REQUEST',
    signed(key, () => body),
  );
}

test('a root certifies itself for twenty years from an hour ago', () => {
  const { certificate, key } = createRoot(NOW);
  expect(certificate.subject).toEqual({ commonName: 'swarm-ca', unit: '', organization: '' });
  expect([certificate.isAuthority, certificate.isStronglySigned]).toEqual([true, true]);
  expect(Math.round((NOW - certificate.validFrom) / 60_000)).toBe(60);
  expect(Math.round((certificate.validUntil - NOW) / (365.25 * DAY_MS))).toBe(20);
  expect(certificate.openssl.verify(createPublicKey(key))).toBe(true);
  expect(certificate.openssl.checkPrivateKey(key)).toBe(true);
});

test("a node's certificate names node, role and cluster, and serves as server and client", () => {
  const { certificate } = nodeOf(ROOT, MANAGER);
  const read = new X509Certificate(certificate.pem);
  expect(read.subject).toBe('O=cluster1\nOU=swarm-manager\nCN=node1');
  expect(read.subjectAltName).toBe('DNS:swarm-manager, DNS:node1, DNS:swarm-ca');
  expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  expect([
    read.ca,
    read.checkIssued(ROOT.certificate.openssl),
    read.verify(ROOT.certificate.openssl.publicKey),
  ]).toEqual([false, true, true]);
  expect([Date.parse(read.validFrom), Date.parse(read.validTo)]).toEqual([
    certificate.validFrom,
    certificate.validUntil,
  ]);
  expect(identityOf(certificate)).toEqual(MANAGER);
  expect(new X509Certificate(nodeOf(ROOT, WORKER).certificate.pem).subjectAltName).toBe(
    'DNS:swarm-worker, DNS:node2',
  );
});

test('every certificate has a number of its own, and one beyond 2049 its time in four digits', () => {
  const numbers = Array.from({ length: 20 }, () => nodeOf(ROOT, WORKER).certificate.openssl.serialNumber);
  expect(new Set(numbers).size).toBe(20);
  const { certificate } = nodeOf(ROOT, WORKER, { expiryMs: 30 * 365 * DAY_MS });
  expect(new X509Certificate(certificate.pem).validTo).toMatch(/ 205\d GMT$/);
  expect(certificate.validUntil).toBe(Math.floor((NOW + 30 * 365 * DAY_MS) / 1000) * 1000);
});

test('105: of a request that asks to be a manager and an authority only the key is taken', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const subject = encodeSubject({ commonName: 'node1', unit: 'swarm-manager', organization: 'cluster1' });
  const names = encodeExtension(
    'alternativeNames',
    sequence(
      context(2, Buffer.from('swarm-manager'), 'primitive'),
      context(2, Buffer.from('swarm-ca'), 'primitive'),
    ),
  );
  const request = requestWith(privateKey, subject, [
    ...authorityExtensions({ own: keyIdOf(spkiOf(privateKey)), issuer: ROOT.certificate.keyId }),
    names,
  ]);
  const life = { now: NOW, expiryMs: DAY_MS };
  const certificate = issueNodeCertificate(ROOT, request, WORKER, life);
  expect(certificate.publicKey.equals(spkiOf(privateKey))).toBe(true);
  expect(identityOf(certificate)).toEqual(WORKER);
  expect([certificate.isAuthority, certificate.openssl.ca, certificate.openssl.subjectAltName]).toEqual([
    false,
    false,
    'DNS:swarm-worker, DNS:node2',
  ]);
});

test('105: requests that are none, or that somebody else signed, are refused', () => {
  const { requestPem } = createRequest();
  const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const own = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const body = sequence(
    integer(0n),
    sequence(),
    spkiOf(own.privateKey),
    context(0, Buffer.alloc(0), 'constructed'),
  );
  const stolen = writePem(
    'CERTIFICATE REQUEST',
    signed(other.privateKey, () => body),
  );
  expect(() => readRequest(stolen)).toThrow('certificate request: it is not signed by its own key');

  const p384 = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  for (const { privateKey } of [p384, rsa]) {
    expect(() => readRequest(requestWith(privateKey, sequence()))).toThrow(
      'its key is not on the curve P-256',
    );
  }

  const der = Buffer.from(requestPem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  const damaged = [
    '',
    'x',
    ROOT.certificate.pem,
    writePem('CERTIFICATE REQUEST', Buffer.alloc(0)),
    writePem('CERTIFICATE REQUEST', Buffer.concat([der, Buffer.of(0)])),
    writePem('CERTIFICATE REQUEST', der.subarray(0, -1)),
    writePem('CERTIFICATE REQUEST', element(TAG.set, der)),
    writePem('CERTIFICATE REQUEST', Buffer.of(0x30, 0x84, 0xff, 0xff, 0xff, 0xff)),
    'A'.repeat(100_000),
  ];
  for (const text of damaged) {
    expect(() => readRequest(text)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  }
});

test('105: a request with any byte changed is refused', () => {
  const { requestPem } = createRequest();
  const der = Buffer.from(requestPem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  const accepted: number[] = [];
  for (let at = 0; at < der.length; at += 1) {
    const changed = Buffer.from(der);
    changed[at] = (changed[at] ?? 0) ^ 0x41;
    try {
      readRequest(writePem('CERTIFICATE REQUEST', changed));
      accepted.push(at);
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_argument' });
    }
  }
  // Not read: the algorithm's name outside of what is signed, as only one is possible, and the count of unused bits.
  const outside = der.indexOf(oid('1.2.840.10045.4.3.2')) - 2;
  expect(accepted.filter((at) => at < outside || at > outside + 14)).toEqual([]);
});

test('a root of RSA or on P-384 signs too; keys that are too weak, or of somebody else, do not', () => {
  for (const { privateKey } of [
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
    generateKeyPairSync('ec', { namedCurve: 'secp384r1' }),
  ]) {
    const signer = { certificate: ROOT.certificate, key: privateKey };
    const { certificate } = nodeOf(signer, WORKER);
    expect([certificate.isStronglySigned, certificate.openssl.verify(createPublicKey(privateKey))]).toEqual([
      true,
      true,
    ]);
  }
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  const edwards = generateKeyPairSync('ed25519').privateKey;
  expect(() => nodeOf({ certificate: ROOT.certificate, key: weak }, WORKER)).toThrow(
    'unsupported RSA key parameters',
  );
  expect(() => nodeOf({ certificate: ROOT.certificate, key: edwards }, WORKER)).toThrow(
    'unsupported ECDSA key parameters',
  );
  expect(() => signerOf(ROOT.certificate, nodeOf(ROOT, WORKER).keyPem)).toThrow('certificate key mismatch');
  expect(() => signerOf(ROOT.certificate, 'x')).toThrow(/^read the signing CA key: /);
});

test('a cross-signed root keeps name, key and life; what is no root is not cross-signed', () => {
  const next = createRoot(NOW);
  const crossed = crossSign(ROOT, next.certificate);
  expect(crossed.publicKey.equals(next.certificate.publicKey)).toBe(true);
  expect([crossed.validFrom, crossed.validUntil]).toEqual([
    next.certificate.validFrom,
    next.certificate.validUntil,
  ]);
  expect(crossed.openssl.verify(ROOT.certificate.openssl.publicKey)).toBe(true);
  expect(() => crossSign(ROOT, nodeOf(ROOT, MANAGER).certificate)).toThrow('certificate not a CA');
});

test('a root of others that names its key in its own way is named so below', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const name = encodeSubject({ commonName: 'swarm-ca', unit: '', organization: '' });
  const ids = { own: Buffer.from('own way'), issuer: Buffer.from('own way') };
  const parts = { issuer: name, subject: name, publicKey: spkiOf(privateKey) };
  const certificate = oddCertificate(privateKey, { ...parts, extensions: authorityExtensions(ids) });
  const root = { certificate, key: privateKey };
  expect(nodeOf(root, WORKER).certificate.openssl.checkIssued(root.certificate.openssl)).toBe(true);
  const crossed = crossSign(ROOT, root.certificate);
  expect(nodeOf(root, WORKER).certificate.openssl.checkIssued(crossed.openssl)).toBe(true);
  expect(crossed.openssl.checkIssued(ROOT.certificate.openssl)).toBe(true);
});
