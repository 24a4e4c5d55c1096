import { expect, test } from 'vitest';
import type { SwarmRole } from '../../../api/types/swarm/ports.ts';
import type { NodeNetworks } from '../../../swarm/agent/ports.ts';
import { swarmNetworks } from '../../../swarm/networks.ts';

const WISH = { network: 'back', container: 'c1', names: [], addresses: [] };
const NEVER = new AbortController().signal;

function networksOf(role: SwarmRole, agent?: NodeNetworks): ReturnType<typeof swarmNetworks> {
  return swarmNetworks({
    role: () => role,
    manager: () => {
      throw new Error('no manager is asked');
    },
    agent: () => agent,
  });
}

test.each<[SwarmRole, object]>([
  ['inactive', { code: 'not_found', message: 'network back not found' }],
  [
    'locked',
    { code: 'unavailable', message: 'Could not attach to network back: this node has no part in its swarm' },
  ],
  [
    'error',
    { code: 'unavailable', message: 'Could not attach to network back: this node has no part in its swarm' },
  ],
])('%s: nothing gets into a network of the swarm, and what goes has gone', async (role, error) => {
  await expect(networksOf(role).attach(WISH, NEVER)).rejects.toMatchObject(error);
  await networksOf(role).detach(WISH);
});

test.each<SwarmRole>(['active/worker', 'active/manager'])('%s: its agent is asked', async (role) => {
  const asked: unknown[] = [];
  const networks = networksOf(role, {
    attach: async (wish) => {
      asked.push(wish);
      return { addresses: ['10.1.0.2'] };
    },
    detach: async (place) => void asked.push(place),
  });
  expect(await networks.attach(WISH, NEVER)).toEqual({ addresses: ['10.1.0.2'] });
  await networks.detach({ network: 'back', container: 'c1' });
  expect(asked).toEqual([WISH, { network: 'back', container: 'c1' }]);
});
