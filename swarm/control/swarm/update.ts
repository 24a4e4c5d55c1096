import type { SwarmSpec, SwarmUpdateFlags } from '../../../api/types/swarm/swarm.ts';
import { isEngineError } from '../../../daemon/base/errors.ts';
import type { RootWish } from '../../ca/roots/decision.ts';
import { put } from '../../objects/parts.ts';
import { rpcError } from '../base/rpc-error.ts';
import { checkVersion, unchanged, write } from '../base/write.ts';
import { nowMs, type ControlContext } from '../context.ts';
import type { RootChange, RootWrites } from '../ports.ts';
import { completeSwarmSpec } from './spec.ts';
import { clusterRecord } from './view.ts';

/** Replaces the swarm's specification, and changes root, tokens and locking with it. */
export async function updateSwarm(
  context: ControlContext,
  version: number,
  sent: SwarmSpec,
  flags: SwarmUpdateFlags,
): Promise<void> {
  const { cluster, root } = context;
  const spec = completeSwarmSpec(sent);
  const change: RootChange = {
    wish: wishOf(sent),
    rotateWorkerToken: flags.rotateWorkerToken,
    rotateManagerToken: flags.rotateManagerToken,
    rotateUnlockKey: flags.rotateManagerUnlockKey,
    autoLock: spec.EncryptionConfig?.AutoLockManagers ?? false,
  };
  await write(context, {
    decide: async () => {
      const record = clusterRecord(context);
      await checkVersion(context, version, 'cluster', record.id);
      const condition = unchanged(cluster, 'cluster', record.id);
      const { conditions, writes } = await prepared(context, change);
      return {
        conditions: [condition, ...conditions],
        parts: [put('cluster', { ...record, spec, updated: nowMs(context) })],
        values: writes,
        answer: undefined,
      };
    },
  });
  await root.applied(change);
}

async function prepared({ root }: ControlContext, change: RootChange): Promise<RootWrites> {
  try {
    return await root.prepare(change);
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      throw rpcError('InvalidArgument', error.message, error);
    }
    throw error;
  }
}

/** What the specification says of the root, the keys included that are not stored with it. Pure. */
function wishOf({ CAConfig: ca = {} }: SwarmSpec): RootWish {
  return {
    ...(ca.SigningCACert ? { signingCertPem: ca.SigningCACert } : {}),
    ...(ca.SigningCAKey ? { signingKeyPem: ca.SigningCAKey } : {}),
    forceRotate: ca.ForceRotate ?? 0,
    externals: (ca.ExternalCAs ?? []).map(({ URL: url = '', CACert: certPem }) => ({
      url,
      ...(certPem ? { certPem } : {}),
    })),
  };
}
