import { expect, test } from 'vitest';
import { Dispatcher } from '../../../../swarm/dispatcher/dispatcher.ts';
import { factsOf } from '../../../../swarm/membership/manager/swarm-facts.ts';
import { recordWrite } from '../../../../swarm/membership/manager/certificate-record.ts';
import { sealedKey } from '../../../../swarm/objects/values.ts';
import type { Write } from '../../../../swarm/store/port.ts';
import { nodeWrites } from '../../../support/swarm/builders.ts';
import { DispatchedNode } from '../../../support/swarm/dispatched-node.ts';
import { SwarmRig } from '../../../support/swarm/manager-rig.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

/** A leader with sessions of three nodes. `lookedFor`: for whom the root was looked at since. */
async function threeSessions(): Promise<{
  lookedFor: string[];
  write: (value: Write) => Promise<void>;
  tellManagers: () => Promise<void>;
}> {
  const manager = await new SwarmRig().manager();
  const lookedFor: string[] = [];
  let tell: (() => void) | undefined;
  const { cluster, deps } = manager;
  const dispatcher = new Dispatcher({
    ...deps,
    random: new SeededRandom(2),
    facts: factsOf({
      cluster,
      authority: {
        rootFor: (node) => {
          lookedFor.push(node);
          return { kind: 'root', trustPem: 'PEM', issuerSubject: 'subject', issuerPublicKey: 'key' };
        },
      },
      table: {
        addresses: () => [],
        subscribe: (listener) => {
          tell = listener;
          return { [Symbol.dispose]: () => undefined };
        },
      },
    }),
    unseal: (_key, sealed) => sealed,
    dial: () => {
      throw new Error('nobody is to be dialled');
    },
  });
  const nodes = ['n1', 'n2', 'n3'];
  await manager.begin(...nodes.map((id) => nodeWrites(id)));
  await manager.lead({ loops: [dispatcher] });
  await Promise.all(nodes.map((id) => DispatchedNode.open(dispatcher, id)));
  const { clock } = manager.rig;
  await clock.advance(250);
  expect(lookedFor.toSorted()).toEqual(nodes);
  lookedFor.length = 0;
  return {
    lookedFor,
    write: async (value) => {
      await cluster.commit({ conditions: [], values: [value] });
      await clock.advance(250);
    },
    tellManagers: async () => {
      tell?.();
      await clock.advance(250);
    },
  };
}

test("one node's certificate wakes no other session", async () => {
  const { lookedFor, write } = await threeSessions();
  const issuer = { subject: 'subject', publicKey: 'key' };
  await write(recordWrite('n2', { issuer, validUntil: 1 }));
  // A node that joins has no session yet.
  await write(recordWrite('n4', { issuer, validUntil: 1 }));
  expect(lookedFor).toEqual(['n2']);
});

test('another root wakes all sessions', async () => {
  const { lookedFor, write } = await threeSessions();
  await write({ kind: 'put', key: sealedKey.root(), value: Buffer.from('sealed') });
  expect(lookedFor.toSorted()).toEqual(['n1', 'n2', 'n3']);
});

test('managers that come and go have nothing to do with the root', async () => {
  const { lookedFor, tellManagers } = await threeSessions();
  await tellManagers();
  expect(lookedFor).toEqual([]);
});
