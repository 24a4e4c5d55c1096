import { describe, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { leaderIn } from '../../../../swarm/protocol/not-leader.ts';
import { networkWrite, nodeWrites } from '../../../support/swarm/builders.ts';
import {
  DispatchedNode,
  dispatching,
  leadingDispatcher,
  opened,
  type Dispatching,
} from '../../../support/swarm/dispatched-node.ts';

const ASK = { network: 'a', container: 'c1', names: ['c1'], addresses: [] };

async function twoNodes(): Promise<{ made: Dispatching; n1: DispatchedNode; n2: DispatchedNode }> {
  const made = await leadingDispatcher([networkWrite('a')], nodeWrites('n1'), nodeWrites('n2'));
  const [n1, n2] = await opened(made, 'n1', 'n2');
  if (n1 === undefined || n2 === undefined) {
    throw new Error('two sessions were opened');
  }
  return { made, n1, n2 };
}

/** What a call is answered, once the leader had its turn. */
async function asked(made: Dispatching, node: DispatchedNode, name: string, body: object): Promise<unknown> {
  const call = node.call(name, body).catch((error: unknown) => error);
  await made.manager.rig.clock.advance(200);
  return await call;
}

const stored = ({ manager }: Dispatching): string[] =>
  [...manager.cluster.state.attachments.values()]
    .map(({ node, container }) => `${container}@${node}`)
    .toSorted();

describe('a node asks for its own containers', () => {
  test('whichever node it names, it is the one of its certificate', async () => {
    const { made, n1, n2 } = await twoNodes();
    const answer = await asked(made, n1, 'networks.attach', { ...ASK, node: 'n2' });
    expect(answer).toMatchObject({ network: 'a', addresses: ['10.1.0.2'] });
    expect(stored(made)).toEqual(['c1@n1']);
    await asked(made, n2, 'networks.detach', { ...ASK, node: 'n1' });
    await asked(made, n2, 'networks.attached', { attachments: [], node: 'n1' });
    expect(stored(made)).toEqual(['c1@n1']);
    expect(await asked(made, n2, 'networks.attached', { attachments: [{ ...ASK, node: 'n1' }] })).toEqual({
      refused: [],
    });
    expect(stored(made)).toEqual(['c1@n1', 'c1@n2']);
  });

  test.each(['networks.attach', 'networks.detach', 'networks.attached'])(
    '%s with the session of another node, or one that is over, is refused',
    async (name) => {
      const { made, n1, n2 } = await twoNodes();
      const body = { ...ASK, attachments: [ASK] };
      const invalid = { code: 'failed_precondition', message: 'session invalid' };
      expect(await asked(made, n2, name, { ...body, session: n1.session })).toMatchObject(invalid);
      await n1.cut();
      expect(await asked(made, n1, name, body)).toMatchObject(invalid);
      expect(stored(made)).toEqual([]);
    },
  );

  test('a manager that does not lead names the one that does', async () => {
    const { made } = await twoNodes();
    const { dispatcher } = await dispatching('m2', made.manager.rig);
    const error = await new DispatchedNode(dispatcher, 'n1')
      .call('networks.attach', ASK)
      .catch((caught: unknown) => caught);
    expect(leaderIn(error)).toBe('m1:2377');
  });
});

test('a node that leaves for good has nothing in networks any more', async () => {
  const { made, n1, n2 } = await twoNodes();
  await asked(made, n1, 'networks.attach', ASK);
  await asked(made, n2, 'networks.attach', ASK);
  await asked(made, n1, 'session.leave', {});
  expect(stored(made)).toEqual(['c1@n2']);
});

test('a new session of the node may ask at once', async () => {
  const { made, n1 } = await twoNodes();
  await asked(made, n1, 'networks.attach', ASK);
  const again = await DispatchedNode.open(made.dispatcher, 'n1');
  const attachments = [{ ...ASK, addresses: ['10.1.0.2'] }];
  expect(await asked(made, again, 'networks.attached', { attachments })).toEqual({ refused: [] });
  expect(await asked(made, again, 'networks.attach', ASK)).toMatchObject({ addresses: ['10.1.0.2'] });
});

test('what of a list is not granted is told, the others are', async () => {
  const { made, n1, n2 } = await twoNodes();
  await asked(made, n1, 'networks.attach', ASK);
  const attachments = [
    { ...ASK, addresses: ['10.1.0.2'] },
    { ...ASK, container: 'c2', addresses: ['10.1.0.3'] },
    { ...ASK, network: 'gone', container: 'c3', addresses: ['10.7.0.3'] },
  ];
  expect(await asked(made, n2, 'networks.attached', { attachments })).toEqual({
    refused: [
      {
        network: 'a',
        container: 'c1',
        error:
          'Could not attach to network a: rpc error: code = FailedPrecondition desc = ' +
          'Address already in use: 10.1.0.2 in network a',
      },
      {
        network: 'gone',
        container: 'c3',
        error: 'Could not attach to network gone: rpc error: code = NotFound desc = network gone not found',
      },
    ],
  });
  expect(stored(made)).toEqual(['c1@n1', 'c2@n2']);
});

describe('what a node in other hands sends is refused', () => {
  const long = 'x'.repeat(limits.swarmAttachmentTextMax + 1);
  test.each<[string, string, object]>([
    ['networks.attach', 'no network', { ...ASK, network: undefined }],
    ['networks.attach', 'an empty name of one', { ...ASK, network: '' }],
    ['networks.attach', 'a container that is none', { ...ASK, container: { id: 'c1' } }],
    ['networks.attach', 'a container of many characters', { ...ASK, container: long }],
    ['networks.attach', 'names that are no list', { ...ASK, names: 'c1' }],
    ['networks.attach', 'names that are none', { ...ASK, names: [1] }],
    ['networks.attach', 'many names', { ...ASK, names: Array(limits.swarmAttachmentNamesMax + 1).fill('c') }],
    ['networks.attach', 'many addresses', { ...ASK, addresses: ['10.1.0.7', '10.1.0.8', '10.1.0.9'] }],
    ['networks.detach', 'no container', { network: 'a' }],
    ['networks.attached', 'no list', { attachments: ASK }],
    ['networks.attached', 'a list of others', { attachments: ['c1'] }],
    [
      'networks.attached',
      'very many',
      { attachments: Array.from({ length: limits.swarmAttachmentsMax + 1 }, () => ASK) },
    ],
  ])('%s: %s', async (name, _what, body) => {
    const { made, n1 } = await twoNodes();
    expect(await asked(made, n1, name, body)).toMatchObject({ code: 'invalid_argument' });
    expect(stored(made)).toEqual([]);
  });
});
