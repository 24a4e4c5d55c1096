import { expect, test } from 'vitest';
import type { TrustedRoot } from '../../../../swarm/agent/ports.ts';
import type { Issuer } from '../../../../swarm/ca/roots/root.ts';
import { WantedIssuer } from '../../../../swarm/membership/wanted-issuer.ts';

const issuer = (name: string): Issuer => ({ subject: Buffer.from('swarm-ca'), publicKey: Buffer.from(name) });
const told = (name: string): TrustedRoot => ({
  trustPem: '',
  issuerSubject: issuer(name).subject.toString('base64'),
  issuerPublicKey: issuer(name).publicKey.toString('base64'),
});

test('112: another issuer is wanted from when it is told until the certificate has it', () => {
  const wanted = new WantedIssuer();
  expect(wanted.isOtherWanted(issuer('a'))).toBe(false);
  wanted.told(told('a'));
  expect(wanted.isOtherWanted(issuer('a'))).toBe(false);
  wanted.told(told('b'));
  expect(wanted.isOtherWanted(issuer('a'))).toBe(true);
  wanted.renewed('1', issuer('b'));
  expect(wanted.isOtherWanted(issuer('b'))).toBe(false);
  expect(wanted.isOtherWanted(undefined)).toBe(true);
});

test('113: where renewing does not bring it, it is given up until another one is told', () => {
  const wanted = new WantedIssuer();
  wanted.told(told('b'));
  for (const certPem of ['1', '2', '3', '4', '5']) {
    expect(wanted.isOtherWanted(issuer('intermediate'))).toBe(true);
    wanted.renewed(certPem, issuer('intermediate'));
    // Trust alone has changed.
    wanted.renewed(certPem, issuer('intermediate'));
  }
  expect(wanted.isOtherWanted(issuer('intermediate'))).toBe(false);
  wanted.told(told('b'));
  expect(wanted.isOtherWanted(issuer('intermediate'))).toBe(false);
  wanted.told(told('c'));
  expect(wanted.isOtherWanted(issuer('intermediate'))).toBe(true);
});
