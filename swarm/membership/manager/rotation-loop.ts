import type { Clock } from '../../../daemon/base/clock.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { isSameIssuer, issuerOf, type Issuer } from '../../ca/roots/root.ts';
import { finishRotation, nextStep, type RotatingNode } from '../../ca/roots/rotation.ts';
import type { LeaderLoop, Leading } from '../../leader/ports.ts';
import type { Random } from '../../objects/random.ts';
import type { Node } from '../../planner/state/entries.ts';
import { isStoreError } from '../../store/errors.ts';
import type { Authority } from './authority.ts';
import { isSameText, readRecord, recordWrite, textOf, type IssuerText } from './certificate-record.ts';
import { repeatWhile } from './repeat.ts';
import type { SealedValues } from './sealed-values.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  random: Random;
  authority: Authority;
  sealed: SealedValues;
}

/** A node that is told and does not come is told again by its next session: the loop itself waits for reports. */
const SWEEP_MS = 10_000;

/** Brings a rotation of the root to its end: nodes renew, some at a time, then the new root alone is trusted. */
export function rotationLoop(deps: Deps): LeaderLoop {
  return {
    start: (leading) =>
      repeatWhile(
        { clock: deps.clock, logger: deps.logger, what: 'rotation of the root', sweepMs: SWEEP_MS },
        (wake) => {
          const parts = leading.cluster.subscribe((changed) => {
            if (changed.some(({ write }) => write.part === 'nodeDescription' || write.part === 'node')) {
              wake();
            }
          });
          const values = leading.cluster.subscribeValues(wake);
          return {
            [Symbol.dispose]: () => {
              parts[Symbol.dispose]();
              values[Symbol.dispose]();
            },
          };
        },
        () => rotate(deps, leading),
      ),
  };
}

async function rotate({ authority, sealed, random, logger }: Deps, leading: Leading): Promise<void> {
  const { cluster } = leading;
  const condition = sealed.condition('root');
  const root = authority.root();
  if (root.rotation === undefined) {
    return;
  }
  const issuer = issuerOf(root);
  const wanted = textOf(issuer);
  const nodes = [...cluster.state.nodes.values()].filter(({ record }) => record !== undefined);
  const rotating = nodes.map((node) => ({ node, rotating: rotatingNode(leading, node, wanted) }));
  const step = nextStep(
    root,
    rotating.map((each) => each.rotating),
  );
  if (step.do === 'finish') {
    const value = sealed.write('root', finishRotation(root, random));
    await leading.commit({ conditions: [condition], values: [value] });
    failpoint('swarm.membership.rotation-finished');
    logger.info('the root of the swarm has been rotated');
  } else if (step.do === 'renew' && step.nodes.length > 0) {
    // A node that is down is told, and not waited for.
    const busy = rotating.filter(
      (each) =>
        each.rotating.isRenewing &&
        !isSameIssuer(each.rotating.issuer, issuer) &&
        each.node.state?.state === 'ready',
    );
    const told = step.nodes.slice(0, Math.max(limits.swarmRotatingNodesMax - busy.length, 0));
    const values = told.flatMap((node) => {
      const record = readRecord(cluster, node);
      return record === undefined ? [] : [recordWrite(node, { ...record, renewTo: wanted })];
    });
    if (values.length === 0) {
      return;
    }
    try {
      await leading.commit({ conditions: [condition], values });
      failpoint('swarm.membership.rotation-told');
    } catch (error) {
      if (!isStoreError(error, 'conflict')) {
        throw error;
      }
      // The root is another one now: the change wakes this loop.
    }
  }
}

function rotatingNode({ cluster }: Leading, node: Node, wanted: IssuerText): RotatingNode {
  const { CertIssuerSubject = '', CertIssuerPublicKey = '' } = node.description?.TLSInfo ?? {};
  const record = readRecord(cluster, node.id);
  const issuer: Issuer = {
    subject: Buffer.from(CertIssuerSubject, 'base64'),
    publicKey: Buffer.from(CertIssuerPublicKey, 'base64'),
  };
  return {
    id: node.id,
    ...(CertIssuerSubject === '' ? {} : { issuer }),
    // One that was issued a certificate has not reported it yet.
    isRenewing: isSameText(record?.renewTo, wanted) || isSameText(record?.issuer, wanted),
  };
}
