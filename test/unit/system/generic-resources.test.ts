import { expect, test } from 'vitest';
import { parseGenericResources } from '../../../daemon/system/generic-resources.ts';

const discrete = (Kind: string, Value: number) => ({ DiscreteResourceSpec: { Kind, Value } });
const named = (Kind: string, Value: string) => ({ NamedResourceSpec: { Kind, Value } });

test.each([
  ['nothing', [], []],
  ['a count', ['disk=4'], [discrete('disk', 4)]],
  ['blanks', [' disk = 4 '], [discrete('disk', 4)]],
  ['none of it', ['disk=0'], [discrete('disk', 0)]],
  ['a name', ['gpu=UUID1'], [named('gpu', 'UUID1')]],
  [
    'names, each once',
    ['gpu=UUID1', 'gpu=UUID2', 'gpu=UUID1'],
    [named('gpu', 'UUID1'), named('gpu', 'UUID2')],
  ],
  [
    'both kinds',
    ['gpu=UUID1', 'disk=4', 'gpu=UUID2'],
    [named('gpu', 'UUID1'), named('gpu', 'UUID2'), discrete('disk', 4)],
  ],
  ['a key of every object', ['__proto__=1'], [discrete('__proto__', 1)]],
])('generic resources: %s', (_title, terms, expected) => {
  expect(parseGenericResources(terms)).toEqual(expected);
});

test.each([
  ['disk', "incorrect term disk, missing '=' or malformed expression"],
  ['=1', "incorrect term =1, missing '=' or malformed expression"],
  ['a=b=c', "incorrect term a=b=c, missing '=' or malformed expression"],
  ['disk=-1', 'cannot ask for negative resource disk'],
  ['gpu=UUID1,gpu=1', "mixed discrete and named resources in expression 'gpu=[UUID1 1]'"],
  ['gpu=1,gpu=2', "mixed discrete and named resources in expression 'gpu=[1 2]'"],
])('generic resources: refuses %s', (terms, text) => {
  expect(() => parseGenericResources(terms.split(','))).toThrow(`could not parse GenericResource: ${text}`);
});
