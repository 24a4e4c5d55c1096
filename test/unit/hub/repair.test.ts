import { expect, test } from 'vitest';
import { inOrder, repairOf, type PeerWord } from '../../../daemon/hub/registry/peers/repair.ts';

const REPOSITORY = 7;
/** By their rank for that repository. */
const [A = '', B = '', C = '', D = ''] = inOrder(REPOSITORY, ['n1', 'n2', 'n3', 'n4']);

type Words = Partial<Record<string, PeerWord['said']>>;

test.each<[title: string, self: string, replicas: number, words: Words, give: string[], isOpen: boolean]>([
  ['two hold it', A, 0, { [B]: 'held', [C]: 'wanted' }, [], false],
  ['one holds it: the first other one gets it', A, 0, { [B]: 'wanted', [C]: 'wanted' }, [B], false],
  [
    'the one that is last of all gives too, where it alone can',
    D,
    0,
    { [A]: 'wanted', [B]: 'lost' },
    [A],
    false,
  ],
  ['who is away may have it', A, 0, { [B]: 'wanted', [C]: 'away' }, [], true],
  ['who is lost has nothing', A, 0, { [B]: 'wanted', [C]: 'lost' }, [B], false],
  [
    'of three copies one is away and one lacks',
    A,
    3,
    { [B]: 'away', [C]: 'wanted', [D]: 'wanted' },
    [C],
    true,
  ],
  ['another holder is first: it gives', B, 3, { [A]: 'held', [C]: 'wanted' }, [], true],
  ['the first holder gives', A, 3, { [B]: 'held', [C]: 'wanted', [D]: 'wanted' }, [C], false],
  ['one copy is enough', A, 1, { [B]: 'wanted' }, [], false],
  ['nobody else has a hub', A, 0, { [B]: 'no-hub' }, [], false],
  ['there is nobody else', A, 0, {}, [], false],
  ['more are asked for than there are', A, 5, { [B]: 'held', [C]: 'lost' }, [], false],
  ['the other one does not know the record yet', A, 0, { [B]: 'unwanted' }, [], true],
])('%s', (_title, self, replicas, words, give, isOpen) => {
  const others = Object.entries(words).flatMap(([host, said]) =>
    said === undefined ? [] : [{ host, said }],
  );
  expect(repairOf({ self, repository: REPOSITORY, replicas, others })).toEqual({ give, isOpen });
});

test('repositories have orders of their own, which do not hang on how managers are listed', () => {
  expect(inOrder(REPOSITORY, ['n4', 'n3', 'n2', 'n1'])).toEqual([A, B, C, D]);
  const orders = Array.from({ length: 50 }, (_, repository) => inOrder(repository, [A, B, C, D])[0]);
  expect(new Set(orders)).toEqual(new Set([A, B, C, D]));
});
