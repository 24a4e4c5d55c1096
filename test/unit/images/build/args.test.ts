import { expect, test } from 'vitest';
import { BuildArgs } from '../../../../daemon/images/build/args.ts';

test('BuildArgs: what is given wins over defaults, and a stage sees only what it declares', () => {
  const args = new BuildArgs(
    new Map([
      ['GIVEN', 'g'],
      ['NULL', null],
      ['http_proxy', 'p'],
      ['LOST', 'l'],
    ]),
  );
  args.declareGlobal('GIVEN', 'default');
  args.declareGlobal('OTHER', 'o');
  expect([...args.globals]).toEqual([
    ['GIVEN', 'g'],
    ['OTHER', 'o'],
  ]);
  args.newStage();
  expect([...args.values]).toEqual([['http_proxy', 'p']]);
  args.declare('GIVEN', undefined);
  args.declare('OTHER', undefined);
  args.declare('NULL', 'n');
  args.declare('NOTHING', undefined);
  expect([...args.values]).toEqual([
    ['GIVEN', 'g'],
    ['OTHER', 'o'],
    ['NULL', 'n'],
    ['http_proxy', 'p'],
  ]);
  expect([...args.known]).toEqual([
    ['GIVEN', 'g'],
    ['OTHER', 'o'],
    ['NULL', 'n'],
  ]);
  expect(args.unused).toEqual(['LOST']);
  args.newStage();
  expect([...args.known]).toEqual([]);
});
