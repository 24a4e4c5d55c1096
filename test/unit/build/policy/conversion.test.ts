import { expect, test } from 'vitest';
import type { SourceRule, SourceSelector } from '../../../../api/types/build/source-policy.ts';
import { isEngineError } from '../../../../daemon/base/errors.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { conversionBy } from '../../../../daemon/build/policy/conversion.ts';
import { asTheyAre, type NamedSource } from '../../../../daemon/build/policy/named-source.ts';

const ALPINE = 'docker-image://docker.io/library/alpine:3';
const URL = 'https://host/a.tgz';

const select = (identifier: string, more: Partial<SourceSelector> = {}): SourceSelector => ({
  identifier,
  match: 'wildcard',
  constraints: [],
  ...more,
});
const deny = (identifier: string, more?: Partial<SourceSelector>): SourceRule => ({
  action: 'deny',
  selector: select(identifier, more),
});
const allow = (identifier: string): SourceRule => ({ action: 'allow', selector: select(identifier) });
const convert = (
  from: string,
  to: string,
  attrs: Record<string, string> = {},
  more?: Partial<SourceSelector>,
): SourceRule => ({
  action: 'convert',
  selector: select(from, more),
  updates: { identifier: to, attrs: new Map(Object.entries(attrs)) },
});
const source = (identifier: string, attrs: Record<string, string> = {}): NamedSource => ({
  identifier,
  attrs: new Map(Object.entries(attrs)),
});
const denied = (identifier: string): string =>
  `source "${identifier}" denied by policy: source denied by policy`;

/** What it becomes, or why not. */
function judged(rules: readonly SourceRule[], asked: NamedSource): string {
  try {
    const { identifier, attrs } = conversionBy([{ rules }])(asked);
    return [identifier, ...[...attrs].map((pair) => pair.join('='))].join(' ');
  } catch (error) {
    if (!isEngineError(error)) {
      throw error;
    }
    return `${error.code}: ${error.message}`;
  }
}

const GO = 'docker-image://docker.io/library/golang:';

test.each<[string, SourceRule[], NamedSource, string]>([
  ['nothing fits', [deny('git://*')], source(ALPINE), ALPINE],
  ['the last rule counts: deny', [allow('*'), deny(ALPINE)], source(ALPINE), `forbidden: ${denied(ALPINE)}`],
  ['the last rule counts: allow', [deny('*'), allow(ALPINE)], source(ALPINE), ALPINE],
  ['all but some', [deny('*'), allow('docker-image://*')], source(URL), `forbidden: ${denied(URL)}`],
  [
    'a short name is the whole one',
    [deny(ALPINE)],
    source('docker-image://alpine:3'),
    `forbidden: ${denied(ALPINE)}`,
  ],
  ['exact: an asterisk is one', [deny('https://*', { match: 'exact' })], source(URL), URL],
  ['a pattern has no dots that are any letter', [deny('https://hos..a.tgz')], source(URL), URL],
  [
    'regex: anywhere',
    [deny(String.raw`host/.\.tgz`, { match: 'regex' })],
    source(URL),
    `forbidden: ${denied(URL)}`,
  ],
  [
    'regex: its own text fits',
    [deny('a+b', { match: 'regex' })],
    source('a+b'),
    `forbidden: ${denied('a+b')}`,
  ],
  [
    'text of an asterisk',
    [convert(`${GO}*`, 'docker-image://g.io/go:${1}-alpine')],
    source(`${GO}1.2`),
    'docker-image://g.io/go:1.2-alpine',
  ],
  [
    'two of them, a dollar sign',
    [convert('https://*/*', 'http://$2.$1/$$$3x')],
    source(URL),
    'http://a.tgz.host/$',
  ],
  [
    'a name goes as far as it can',
    [convert('https://*', 'http://${1}x$1x')],
    source(URL),
    'http://host/a.tgzx',
  ],
  [
    'groups by name',
    [convert('^https://(?P<h>[a-z]+)', 'http://$h', {}, { match: 'regex' })],
    source(URL),
    'http://host/a.tgz',
  ],
  ['each match', [convert('a', 'b', {}, { match: 'regex' })], source('a-aa'), 'b-bb'],
  ['one conversion after another', [convert(ALPINE, `${GO}1`), convert(`${GO}1`, URL)], source(ALPINE), URL],
  [
    'what comes of it may be denied',
    [convert(ALPINE, URL), deny('https://*')],
    source(ALPINE),
    `forbidden: ${denied(URL)}`,
  ],
  ['a denied one may be converted', [deny(ALPINE), convert(ALPINE, URL)], source(ALPINE), URL],
  [
    'attributes alone',
    [convert(URL, '', { 'http.checksum': 'x' })],
    source(URL, { a: 'b' }),
    `${URL} a=b http.checksum=x`,
  ],
  ['what it is already', [convert(URL, URL, { a: 'b' })], source(URL, { a: 'b' }), `${URL} a=b`],
  [
    'without an end',
    [convert('https://*', 'https://${1}x')],
    source(URL),
    'invalid_argument: too many mutations on a single source: too many operations',
  ],
  [
    'in a circle',
    [convert('a', 'b'), convert('b', 'a')],
    source('a'),
    'invalid_argument: too many mutations on a single source: too many operations',
  ],
  [
    'nothing said',
    [{ action: 'convert', selector: select('a') }],
    source('a'),
    'invalid_argument: error mutating source policy: missing destination for convert rule',
  ],
])('%s', (_title, rules, asked, expected) => {
  expect(judged(rules, asked)).toBe(expected);
});

test.each<[string, SourceSelector['constraints'][number], boolean]>([
  ['equal', { key: 'a', value: 'b', condition: 'equal' }, true],
  ['equal: another', { key: 'a', value: 'c', condition: 'equal' }, false],
  ['equal: nothing', { key: 'x', value: '', condition: 'equal' }, true],
  ['notequal', { key: 'a', value: 'b', condition: 'notequal' }, false],
  ['notequal: missing', { key: 'x', value: 'b', condition: 'notequal' }, true],
  ['matches', { key: 'a', value: '^[a-c]$', condition: 'matches' }, true],
  ['matches: not', { key: 'a', value: '^[d-f]$', condition: 'matches' }, false],
])('a constraint: %s', (_title, constraint, isMet) => {
  const rules = [deny(URL, { constraints: [constraint] })];
  expect(judged(rules, source(URL, { a: 'b' })).startsWith('forbidden')).toBe(isMet);
  // All of them.
  const two = [...rules[0]!.selector.constraints, { key: 'a', value: 'no', condition: 'equal' as const }];
  expect(judged([deny(URL, { constraints: two })], source(URL, { a: 'b' }))).toBe(`${URL} a=b`);
});

test.each<[string, SourceRule]>([
  ['selector "a**": invalid wildcard: "**"', deny('a**')],
  ['selector "("', deny('(', { match: 'regex' })],
  ['attribute a "("', deny('*', { constraints: [{ key: 'a', value: '(', condition: 'matches' }] })],
  ['longer than', deny('a'.repeat(limits.sourceNameLengthMax + 1))],
])('no policy: %s', (problem, rule) => {
  expect(judged([rule], source('x'))).toContain(`invalid_argument: source policy: ${problem}`.slice(0, 30));
  expect(judged([rule], source('x'))).toContain(problem);
});

test('bounds: rules, and names that grow', () => {
  const many = Array.from({ length: limits.sourceRulesMax + 1 }, () => deny('x'));
  expect(() => conversionBy([{ rules: many }])).toThrow('source policy: more than 1000 rules');
  expect(judged([convert('*', '$1$1$1$1')], source('abc'))).toContain('an identifier of more than');
});

test('each policy judges by itself, and without one a source is the very same', () => {
  const both = conversionBy([{ rules: [deny('a')] }, { rules: [allow('a')] }]);
  expect(() => both(source('a'))).toThrow(denied('a'));
  expect(conversionBy([{ rules: [] }])).toBe(asTheyAre);
  const asked = source('docker-image://alpine');
  expect(conversionBy([{ rules: [allow('*')] }])(asked)).toBe(asked);
});
