import { describe, expect, it } from 'vitest';
import { findNetwork } from '../../../../daemon/networks/scopes/find-network.ts';

const NETWORKS = [
  { id: 'abc1', name: 'front' },
  { id: 'abd2', name: 'abc1' },
  { id: 'b3', name: 'shop' },
  { id: 'c4', name: 'shop' },
];

describe('findNetwork()', () => {
  it.each([
    ['abc1', 'abc1'],
    ['front', 'abc1'],
    ['abd', 'abd2'],
    ['b', 'b3'],
    ['c4', 'c4'],
  ])('%s is %s: an id before a name before the beginning of an id', (ref, id) => {
    expect(findNetwork(ref, NETWORKS).id).toBe(id);
  });

  it.each([
    ['shop', 'network shop is ambiguous (2 matches found based on name)'],
    ['ab', 'network ab is ambiguous (2 matches found based on ID prefix)'],
    ['x', 'network x not found'],
    ['', 'network  not found'],
  ])('%j is refused', (ref, message) => {
    expect(() => findNetwork(ref, NETWORKS)).toThrow(message);
  });
});
