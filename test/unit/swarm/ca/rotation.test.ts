import { expect, test } from 'vitest';
import { verifyChain } from '../../../../swarm/ca/chain.ts';
import {
  isSameIssuer,
  newRootState,
  signingOf,
  trustedRoots,
  type Issuer,
  type RootState,
} from '../../../../swarm/ca/roots/root.ts';
import {
  aimOf,
  beginRotation,
  crossSignedBy,
  finishRotation,
  nextStep,
  type RotatingNode,
} from '../../../../swarm/ca/roots/rotation.ts';
import { parseJoinToken } from '../../../../swarm/ca/tokens.ts';
import { createRoot, issueNodeCertificate } from '../../../../swarm/ca/x509/issue.ts';
import { createRequest } from '../../../../swarm/ca/x509/request.ts';
import { DAY_MS, nodeOf, NOW, ROOT, WORKER } from '../../../support/swarm/authority.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const random = new SeededRandom(1);
const begun = (state: RootState, forceRotate = 1): RootState => {
  const to = aimOf(createRoot(NOW));
  return beginRotation(state, { ...to, crossSignedPem: crossSignedBy(state, to.certPem) }, forceRotate);
};

/** Nodes as a swarm has them: each with a bundle, and the roots that it trusts. */
class Nodes {
  readonly bundles = new Map<string, string>();
  readonly trusted = new Map<string, RootState>();
  readonly told = new Set<string>();
  readonly down = new Set<string>();

  constructor(root: RootState, count: number) {
    for (let index = 0; index < count; index += 1) {
      this.trusted.set(`n${index}`, root);
      this.renew(`n${index}`, root);
    }
  }

  renew(id: string, root: RootState): void {
    const { signer, intermediatesPem } = signingOf(root);
    if (signer === undefined) {
      throw new Error('no signer');
    }
    const life = { now: NOW, expiryMs: DAY_MS };
    const leaf = issueNodeCertificate(signer, createRequest().requestPem, { ...WORKER, node: id }, life);
    this.bundles.set(id, leaf.pem + intermediatesPem);
    this.told.delete(id);
  }

  issuerOf(id: string): Issuer {
    const roots = trustedRoots(this.trusted.get(id) ?? newRootState(ROOT, random));
    const { issuer } = verifyChain(this.bundles.get(id) ?? '', { roots, now: NOW });
    return { subject: issuer.rawSubject, publicKey: issuer.publicKey };
  }

  reports(): RotatingNode[] {
    return [...this.bundles.keys()].map((id) => ({
      id,
      issuer: this.issuerOf(id),
      isRenewing: this.told.has(id),
    }));
  }

  /** Every node has to be able to verify every other. */
  checkAll(): void {
    for (const state of this.trusted.values()) {
      for (const bundle of this.bundles.values()) {
        verifyChain(bundle, { roots: trustedRoots(state), now: NOW });
      }
    }
  }
}

/** Goes on with a rotation from the state and the reports alone, as a manager does that takes over at any step. */
function rotate(start: RootState, nodes: Nodes, stopAfter = Number.POSITIVE_INFINITY): RootState {
  let root = start;
  for (let step = 0; step < stopAfter; step += 1) {
    nodes.checkAll();
    const next = nextStep(root, nodes.reports());
    if (next.do === 'nothing') {
      break;
    }
    if (next.do === 'finish') {
      root = finishRotation(root, random);
      continue;
    }
    next.nodes.forEach((id) => nodes.told.add(id));
    const able = [...nodes.told].find((id) => !nodes.down.has(id));
    if (able === undefined) {
      break;
    }
    nodes.renew(able, root);
  }
  return root;
}

test('112: all nodes renew and verify each other all the while; then the new root is alone, with new tokens', () => {
  const before = newRootState(ROOT, random);
  const nodes = new Nodes(before, 4);
  const rotating = begun(before);
  expect([rotating.certPem, rotating.tokens, rotating.forcedRotation]).toEqual([
    before.certPem,
    before.tokens,
    1,
  ]);
  const after = rotate(rotating, nodes);
  expect(after.rotation).toBeUndefined();
  expect([after.certPem, after.keyPem]).toEqual([rotating.rotation?.certPem, rotating.rotation?.keyPem]);
  expect(after.tokens.worker).not.toBe(before.tokens.worker);
  expect(parseJoinToken(after.tokens.worker).digest).not.toBe(parseJoinToken(before.tokens.worker).digest);
  expect(parseJoinToken(after.tokens.worker).digest).toBe(parseJoinToken(after.tokens.manager).digest);
  // Nodes learn the new root one by one.
  for (const id of nodes.trusted.keys()) {
    nodes.trusted.set(id, after);
    nodes.checkAll();
  }
});

test('112: killed after any step, the next manager goes on from what is stored', () => {
  for (let killed = 0; killed < 9; killed += 1) {
    const before = newRootState(ROOT, random);
    const nodes = new Nodes(before, 3);
    const stored = JSON.parse(JSON.stringify(rotate(begun(before), nodes, killed))) as RootState;
    const after = rotate(stored, nodes);
    expect(after.rotation).toBeUndefined();
    expect(nodes.reports().every(({ issuer }) => isSameIssuer(issuer, signingOf(after).issuer))).toBe(true);
  }
});

test('112: a node that is down holds the end up, until it is back or removed', () => {
  const before = newRootState(ROOT, random);
  const nodes = new Nodes(before, 3);
  nodes.down.add('n1');
  const waiting = rotate(begun(before), nodes);
  expect(nextStep(waiting, nodes.reports())).toEqual({ do: 'renew', nodes: [] });
  const withoutIt = nodes.reports().filter(({ id }) => id !== 'n1');
  expect(nextStep(waiting, withoutIt)).toEqual({ do: 'finish' });
  nodes.down.clear();
  expect(rotate(waiting, nodes).rotation).toBeUndefined();
});

test('112: a second rotation replaces the first', () => {
  const before = newRootState(ROOT, random);
  const nodes = new Nodes(before, 4);
  const first = rotate(begun(before), nodes, 2);
  const second = begun(first, 2);
  expect(second.certPem).toBe(before.certPem);
  const after = rotate(second, nodes);
  expect([after.certPem, after.forcedRotation]).toEqual([second.rotation?.certPem, 2]);
});

test('112: back to the old root, nodes that have moved move back', () => {
  const before = newRootState(ROOT, random);
  const nodes = new Nodes(before, 4);
  rotate(begun(before), nodes, 2);
  nodes.checkAll();
  expect(nextStep(before, nodes.reports())).toEqual({ do: 'nothing' });
});

test('112: thirty nodes at a time are told, each once', () => {
  const root = begun(newRootState(ROOT, random));
  const fleet = Array.from({ length: 100 }, (_, index) => ({ id: `n${index}`, isRenewing: index < 10 }));
  const step = nextStep(root, fleet);
  expect(step).toEqual({ do: 'renew', nodes: fleet.slice(10, 40).map(({ id }) => id) });
});

test('112: what is not the new root as the present one certifies it does not begin a rotation', () => {
  const state = newRootState(ROOT, random);
  const to = aimOf(createRoot(NOW));
  const stranger = newRootState(createRoot(NOW), random);
  for (const crossSignedPem of [
    to.certPem,
    crossSignedBy(stranger, to.certPem),
    crossSignedBy(state, createRoot(NOW).certificate.pem),
    nodeOf(ROOT, WORKER).certificate.pem,
  ]) {
    expect(() => beginRotation(state, { ...to, crossSignedPem }, 1)).toThrow(
      'unable to generate a cross-signed certificate for root rotation',
    );
  }
});
