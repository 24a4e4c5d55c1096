import { expect, test } from 'vitest';
import { orphansIn, tasksIn } from '../../support/swarm/oracle/objects.ts';
import { memberDifferences, type Stored } from '../../support/swarm/oracle/store.ts';

function storeOf(values: Record<string, object | string>): Map<string, Stored> {
  return new Map(
    Object.entries(values).map(([key, value], index) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return [key, { key, text, revision: index + 1 }];
    }),
  );
}

const NAME = `name/service/${Buffer.from('web').toString('base64url')}`;
const WHOLE = {
  'service/s/spec': { spec: { Name: 'web' } },
  [NAME]: 's',
  'task/a': { service: 's', slot: 1, node: 'n', desired: 512 },
  'status/a': { state: 512, container: { id: 'c' } },
  'task/b': { service: 's', slot: 2, desired: 512, refusal: { state: 64 } },
};

test('oracle: tasks are read off the keys of the store', () => {
  const b = { id: 'b', service: 's', slot: 2, node: undefined, desired: 'running', state: 'pending' };
  expect(tasksIn(storeOf(WHOLE))).toEqual([
    { ...b, id: 'a', slot: 1, node: 'n', state: 'running', container: 'c', revision: 4 },
    { ...b, container: '', revision: 5 },
  ]);
  expect(orphansIn(storeOf(WHOLE))).toEqual([]);
});

test('oracle: what has lost what it belongs to is found', () => {
  const broken = {
    ...WHOLE,
    'status/z': { state: 512 },
    'task/y': { service: 'gone', desired: 512 },
    'node/x/state': { state: 'ready' },
    'secret/w/data': 'sealed',
    [`name/service/${Buffer.from('old').toString('base64url')}`]: 's',
  };
  expect(orphansIn(storeOf(broken))).toEqual([
    'the status of task z is left in the store',
    'the state of node x is left in the store',
    'data of secret w is left in the store',
    'task y is of no service',
    'names of services in the store: old s is too much',
  ]);
});

test('oracle: members that have not the same are told by key', () => {
  const stored = storeOf(WHOLE);
  const other = new Map(stored);
  other.delete('task/b');
  other.set('status/a', { key: 'status/a', text: '{}', revision: 4 });
  expect(memberDifferences(['n1', stored], ['n2', stored])).toEqual([]);
  expect(memberDifferences(['n1', stored], ['n2', other])).toEqual([
    'status/a is of revision 4 at n1, 4 at n2',
    'task/b is of revision 5 at n1, 0 at n2',
  ]);
});
