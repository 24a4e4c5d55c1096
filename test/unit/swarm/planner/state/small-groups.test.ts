import { expect, test } from 'vitest';
import { SmallGroups } from '../../../../../swarm/planner/state/small-groups.ts';

const [a, b, c] = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];

test('groups: members keep the order in which they came, and groups go with their last', () => {
  const groups = new SmallGroups<number, { id: string }>();
  groups.add(1, a);
  groups.add(2, b);
  groups.add(1, c);
  groups.add(1, a);
  expect([...groups]).toEqual([
    [1, [a, c]],
    [2, [b]],
  ]);
  groups.delete(1, b);
  groups.delete(1, a);
  groups.delete(2, b);
  groups.delete(3, b);
  expect([[...groups.keys()], [...groups.values()], groups.size]).toEqual([[1], [[c]], 1]);
  expect([groups.get(1), groups.get(2)]).toEqual([[c], []]);
});

test('groups: what was asked for stays as it was', () => {
  const groups = new SmallGroups<number, { id: string }>();
  groups.add(1, a);
  groups.add(1, b);
  const seen: string[] = [];
  for (const member of groups.get(1)) {
    groups.delete(1, member);
    seen.push(member.id);
  }
  expect([seen, groups.size]).toEqual([['a', 'b'], 0]);
});
