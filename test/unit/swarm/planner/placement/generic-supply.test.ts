import { expect, test } from 'vitest';
import type { GenericResource } from '../../../../../api/types/swarm/task.ts';
import { GenericSupply } from '../../../../../swarm/planner/placement/generic-supply.ts';

const named = (Kind: string, ...values: string[]): GenericResource[] =>
  values.map((Value) => ({ NamedResourceSpec: { Kind, Value } }));
const discrete = (Kind: string, Value: number): GenericResource => ({
  DiscreteResourceSpec: { Kind, Value },
});

test('61: named resources are given by name, in their order, each once', () => {
  const supply = new GenericSupply(named('gpu', 'a', 'b', 'c', 'b'));
  const first = supply.choose([{ kind: 'gpu', count: 2 }]) ?? [];
  expect(first).toEqual(named('gpu', 'a', 'b'));
  expect(supply.take(first)).toBe(true);
  expect(supply.choose([{ kind: 'gpu', count: 2 }])).toBeUndefined();
  expect(supply.choose([{ kind: 'gpu', count: 1 }])).toEqual(named('gpu', 'c'));
});

test('61: discrete resources are given by number', () => {
  const supply = new GenericSupply([discrete('ssd', 3)]);
  expect(supply.choose([{ kind: 'ssd', count: 2 }])).toEqual([discrete('ssd', 2)]);
  expect(supply.take([discrete('ssd', 2)])).toBe(true);
  expect(supply.hasEnough([{ kind: 'ssd', count: 2 }])).toBe(false);
  expect(supply.hasEnough([{ kind: 'ssd', count: 1 }])).toBe(true);
});

test('61: several kinds are given all or not at all', () => {
  const supply = new GenericSupply([discrete('ssd', 3), ...named('gpu', 'a')]);
  const both = [
    { kind: 'gpu', count: 1 },
    { kind: 'ssd', count: 3 },
  ];
  expect(supply.choose(both)).toEqual([...named('gpu', 'a'), discrete('ssd', 3)]);
  expect(supply.choose([...both, { kind: 'fpga', count: 1 }])).toBeUndefined();
});

test('76: what the node no longer has is told, and nothing more is given until as much is back', () => {
  const supply = new GenericSupply([discrete('ssd', 1), ...named('gpu', 'b')]);
  expect(supply.take([discrete('ssd', 3)])).toBe(false);
  expect(supply.take(named('gpu', 'a'))).toBe(false);
  expect(supply.take(named('gpu', 'b'))).toBe(true);
  expect(supply.take([discrete('gpu', 1)])).toBe(false);
  expect(supply.hasEnough([{ kind: 'ssd', count: 1 }])).toBe(false);
});

test('61: the first entry of a kind says which sort it is', () => {
  expect(
    new GenericSupply([discrete('gpu', 2), ...named('gpu', 'a')]).choose([{ kind: 'gpu', count: 2 }]),
  ).toEqual([discrete('gpu', 2)]);
});
