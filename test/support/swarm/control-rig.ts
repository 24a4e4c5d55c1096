import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Cluster } from '../../../swarm/cluster/cluster.ts';
import type { ControlContext } from '../../../swarm/control/context.ts';
import { Control } from '../../../swarm/control/control.ts';
import type { RootChange } from '../../../swarm/control/ports.ts';
import { completeSwarmSpec } from '../../../swarm/control/swarm/spec.ts';
import { initOptions } from '../../../swarm/membership/init-options.ts';
import { put } from '../../../swarm/objects/parts.ts';
import { MemoryCluster } from '../../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../../swarm/store/memory/memory-store.ts';
import { Keyring } from '../../../swarm/store/sealed.ts';
import { SeededRandom } from '../seeded-random.ts';

export const CLUSTER_ID = 'c'.repeat(25);
export const NOBODY = new AbortController().signal;

/** The API of a swarm over a store in memory, with what other parts of a manager do for it replaced by little. */
export interface ControlRig extends AsyncDisposable {
  control: Control;
  context: ControlContext;
  store: MemoryStore;
  /** What was asked of the swarm's root. */
  rootChanges: RootChange[];
}

export async function controlRig(more: Partial<ControlContext> = {}): Promise<ControlRig> {
  const clock = systemClock;
  const store = new MemoryStore({ clock, cluster: new MemoryCluster(clock) });
  const cluster = await Cluster.open({ clock, logger: silentLogger, store });
  await cluster.commit({
    conditions: [],
    parts: [
      put('cluster', {
        id: CLUSTER_ID,
        created: 1,
        updated: 1,
        spec: completeSwarmSpec({}),
        ...initOptions({}),
      }),
    ],
  });
  const rootChanges: RootChange[] = [];
  const context: ControlContext = {
    cluster,
    sealer: Keyring.generate(),
    clock,
    random: new SeededRandom(1),
    root: {
      tokens: async () => ({ worker: 'SWMTKN-1-w', manager: 'SWMTKN-1-m' }),
      tlsInfo: () => ({ TrustRoot: 'PEM' }),
      isRotating: false,
      unlockKey: async () => '',
      prepare: async (change) => {
        rootChanges.push(change);
        return { conditions: [], writes: [] };
      },
      applied: async () => undefined,
      removalOf: () => [],
    },
    managers: { list: () => [] },
    statusOf: () => undefined,
    markOf: () => undefined,
    readLogs: async function* () {
      // No task has written anything.
    },
    images: {
      isReference: (text) => /^[a-z0-9./:@-]+$/.test(text),
      pin: async (image) => ({ image: `${image}@sha256:${'a'.repeat(64)}`, platforms: [] }),
    },
    localNetwork: (ref) =>
      ({
        bridge: { name: 'bridge', driver: 'bridge' },
        blue: { name: 'blue', driver: 'bridge' },
      })[ref],
    hostSubnets: () => [],
    checkTemplates: () => undefined,
    ...more,
  };
  return {
    control: new Control(context),
    context,
    store,
    rootChanges,
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
