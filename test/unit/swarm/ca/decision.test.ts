import { describe, expect, it, test } from 'vitest';
import { decideRoot, unreachableAuthority, type RootWish } from '../../../../swarm/ca/roots/decision.ts';
import { newRootState, type RootState } from '../../../../swarm/ca/roots/root.ts';
import { aimOf, beginRotation, crossSignedBy } from '../../../../swarm/ca/roots/rotation.ts';
import { createRoot, crossSign } from '../../../../swarm/ca/x509/issue.ts';
import { DAY_MS, nodeOf, NOW, ROOT, WORKER } from '../../../support/swarm/authority.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const INTERNAL = newRootState(ROOT, new SeededRandom(1));
const OWN_KEY = INTERNAL.keyPem ?? '';
const { keyPem: _keyPem, ...EXTERNAL } = INTERNAL;
const NEXT = createRoot(NOW);
const { certPem, keyPem } = aimOf(NEXT);
const ROTATING: RootState = beginRotation(
  INTERNAL,
  { certPem, keyPem, crossSignedPem: crossSignedBy(INTERNAL, certPem) },
  1,
);
const YEAR_MS = 365 * DAY_MS;

const wish = (more: Partial<RootWish> = {}): RootWish => ({ forceRotate: 0, externals: [], ...more });
const here = { url: 'https://ca.example/sign' };
const there = { url: 'https://other.example/sign', certPem: `\n${certPem}` };

describe('decideRoot()', () => {
  it('keeps what nobody wants changed', () => {
    expect(decideRoot(INTERNAL, wish(), NOW)).toEqual({ do: 'keep', reachable: [] });
    expect(decideRoot(ROTATING, wish({ forceRotate: 1 }), NOW)).toEqual({ do: 'keep', reachable: [] });
  });

  it('rotates to a root yet to be made when forced', () => {
    expect(decideRoot(INTERNAL, wish({ forceRotate: 1 }), NOW)).toEqual({
      do: 'rotate',
      to: undefined,
      crossSignBy: 'own key',
      reachable: [],
    });
  });

  it('rotates to a certificate and its key', () => {
    expect(decideRoot(INTERNAL, wish({ signingCertPem: certPem, signingKeyPem: keyPem }), NOW)).toEqual({
      do: 'rotate',
      to: { certPem, keyPem },
      crossSignBy: 'own key',
      reachable: [],
    });
  });

  it('rotates to an external authority, which has to be reachable', () => {
    expect(decideRoot(INTERNAL, wish({ signingCertPem: certPem, externals: [here, there] }), NOW)).toEqual({
      do: 'rotate',
      to: { certPem },
      crossSignBy: 'own key',
      reachable: [{ signsFor: 'desired', authorities: [there] }],
    });
  });

  it('lets the present external authority cross-sign a root whose key is here', () => {
    const wanted = wish({ signingCertPem: certPem, signingKeyPem: keyPem, externals: [here] });
    expect(decideRoot(EXTERNAL, wanted, NOW)).toEqual({
      do: 'rotate',
      to: { certPem, keyPem },
      crossSignBy: [here],
      reachable: [{ signsFor: 'current', authorities: [here] }],
    });
  });

  it('ends a rotation when the old root is given again', () => {
    const wanted = wish({ signingCertPem: INTERNAL.certPem, signingKeyPem: OWN_KEY, forceRotate: 3 });
    expect(decideRoot(ROTATING, wanted, NOW)).toEqual({
      do: 'store',
      root: { ...INTERNAL, forcedRotation: 3 },
      reachable: [],
    });
  });

  it('moves a key in and out without a rotation', () => {
    const into = wish({ signingCertPem: INTERNAL.certPem, signingKeyPem: OWN_KEY });
    expect(decideRoot(EXTERNAL, into, NOW)).toEqual({ do: 'store', root: INTERNAL, reachable: [] });
    const out = wish({ signingCertPem: INTERNAL.certPem, externals: [here] });
    expect(decideRoot(INTERNAL, out, NOW)).toEqual({
      do: 'store',
      root: EXTERNAL,
      reachable: [{ signsFor: 'desired', authorities: [here] }],
    });
  });

  it('moves the key of the root that is rotated to without beginning anew', () => {
    const out = wish({ signingCertPem: certPem, externals: [there], forceRotate: 1 });
    const decision = decideRoot(ROTATING, out, NOW);
    const crossSignedPem = ROTATING.rotation?.crossSignedPem;
    expect(decision).toMatchObject({ do: 'store', root: { rotation: { certPem, crossSignedPem } } });
    expect(decision).not.toHaveProperty('root.rotation.keyPem');
    const external: RootState = { ...ROTATING, rotation: { certPem, crossSignedPem: crossSignedPem ?? '' } };
    expect(decideRoot(external, wish({ externals: [there], forceRotate: 1 }), NOW)).toEqual({
      do: 'keep',
      reachable: [{ signsFor: 'next', authorities: [there] }],
    });
  });
});

const unreachable = (of: 'current' | 'next' | 'desired'): string => unreachableAuthority(of).message;

test.each<[string, RootState, Partial<RootWish>, number, string]>([
  [
    'a key without its certificate',
    INTERNAL,
    { signingKeyPem: keyPem },
    NOW,
    'if a signing CA key is provided, the signing CA cert must also be provided',
  ],
  [
    'a key of another',
    INTERNAL,
    { signingCertPem: certPem, signingKeyPem: OWN_KEY },
    NOW,
    'certificate key mismatch',
  ],
  [
    'two certificates',
    INTERNAL,
    { signingCertPem: certPem + INTERNAL.certPem },
    NOW,
    'the desired CA certificate cannot contain multiple certificates',
  ],
  ['no certificate', INTERNAL, { signingCertPem: 'x' }, NOW, 'could not parse the desired CA certificate'],
  [
    'a certificate that ends within a year',
    INTERNAL,
    { signingCertPem: certPem, signingKeyPem: keyPem },
    NEXT.certificate.validUntil - YEAR_MS + 1,
    'CA certificate expires too soon',
  ],
  [
    "a node's certificate",
    INTERNAL,
    { signingCertPem: nodeOf(ROOT, WORKER, { expiryMs: 3 * YEAR_MS }).certificate.pem },
    NOW,
    'error while validating Root CA Certificate: it is not a self-signed certificate of a CA',
  ],
  [
    'a root that another certifies',
    INTERNAL,
    { signingCertPem: crossSign(ROOT, NEXT.certificate).pem },
    NOW,
    'error while validating Root CA Certificate: it is not a self-signed certificate of a CA',
  ],
  [
    'another certificate of the same key',
    INTERNAL,
    {
      signingCertPem: crossSign(ROOT, { ...ROOT.certificate, validUntil: NOW + 5 * YEAR_MS }).pem,
      signingKeyPem: OWN_KEY,
    },
    NOW,
    'Cannot update to a cert with an identical key',
  ],
  ['no authority for the present root', EXTERNAL, {}, NOW, unreachable('current')],
  [
    'no authority for the desired root',
    INTERNAL,
    { signingCertPem: certPem, externals: [here] },
    NOW,
    unreachable('desired'),
  ],
  [
    'no authority for the next root',
    { ...ROTATING, rotation: { certPem, crossSignedPem: ROTATING.rotation?.crossSignedPem ?? '' } },
    { forceRotate: 1 },
    NOW,
    unreachable('next'),
  ],
  [
    'from one external authority to another',
    EXTERNAL,
    { signingCertPem: certPem, externals: [here, there] },
    NOW,
    'rotating from one external CA to a different external CA is not supported',
  ],
])('decideRoot() refuses %s', (_title, current, wanted, now, message) => {
  expect(() => decideRoot(current, wish(wanted), now)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message }),
  );
});
