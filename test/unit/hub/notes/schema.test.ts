import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { InvalidFieldsError } from '../../../../daemon/base/invalid-fields.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { readDocument, titleOf } from '../../../../daemon/hub/notes/document/document.ts';
import { NOTE_SCHEMA } from '../../../../daemon/hub/notes/schema/note-schema.ts';
import { CORPUS, ENUMS } from '../../../support/hub/notes/corpus.ts';
import { processorTime } from '../../../support/processor-time.ts';

test.each(CORPUS)('$title', ({ yaml, wrong }) => {
  const read = readDocument(`---\n${yaml}---\n# A note\n`);
  expect((read.problems ?? []).map(({ field }) => field).toSorted()).toEqual(wrong.toSorted());
});

test('plain ajv says the same of all notes, by the schema as it is published', () => {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
  formats.default(ajv);
  const validate = ajv.compile(JSON.parse(JSON.stringify(NOTE_SCHEMA)) as object);
  const differing = CORPUS.filter(({ yaml, wrong }) => validate(parse(yaml)) !== (wrong.length === 0));
  expect(differing).toEqual([]);
});

test('the enums are those of the seed', () => {
  const properties = NOTE_SCHEMA as unknown as {
    properties: Record<string, { properties: Record<string, object> }>;
  };
  const found = Object.keys(ENUMS).map((field) => {
    const [outer = '', inner = ''] = field.split('.');
    const inside = properties.properties[outer]?.properties[inner] ?? {};
    return [field, 'enum' in inside ? inside.enum : undefined];
  });
  expect(Object.fromEntries(found)).toEqual(ENUMS);
  expect(ENUMS['application.category']).toHaveLength(53);
});

test('no object of the schema lets other properties be', () => {
  const open: string[] = [];
  const walk = (schema: object, at: string): void => {
    const { type, properties = {}, additionalProperties } = schema as Record<string, unknown>;
    if (type === 'object' && additionalProperties !== false) {
      open.push(at);
    }
    Object.entries(properties as object).forEach(([name, inner]) => walk(inner as object, `${at}/${name}`));
  };
  walk(NOTE_SCHEMA, '');
  expect(open).toEqual([]);
});

test('an error names each field, its value and what it has to be', () => {
  const yaml = 'meta: {kind: heap}\ndevice: {}\nowner: me\nrev: tomorrow\n';
  const { problems = [] } = readDocument(`---\n${yaml}---\n`);
  expect(problems).toEqual([
    { resource: 'Note', field: 'owner', code: 'invalid', message: expect.any(String) as string, value: 'me' },
    { resource: 'Note', field: 'device.vendor', code: 'missing_field', message: 'is missing' },
    {
      resource: 'Note',
      field: 'meta.kind',
      code: 'invalid',
      message: 'must be one of collection',
      value: 'heap',
    },
    {
      resource: 'Note',
      field: 'rev',
      code: 'invalid',
      message: 'must match format "date"',
      value: 'tomorrow',
    },
  ]);
  expect(new InvalidFieldsError(problems).message).toContain(
    'meta.kind: must be one of collection, not "heap"',
  );
});

const bomb = [
  'a: &a [x, x, x, x, x, x, x, x, x]',
  ...'bcdefghi'.split('').map((name, index) => {
    const before = 'abcdefgh'[index] ?? '';
    return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`;
  }),
].join('\n');

test.each([
  ['a bomb of aliases', bomb, /aliases/],
  ['an alias of itself', 'tags: &a [*a]', /aliases: one stands within/],
  ['an alias of nothing', 'tags: *a', /aliases: Unresolved alias/],
  [
    'a key that stands twice',
    'rev: 2024-01-01\ntags: []\nrev: 2024-01-02',
    /line 4: Map keys must be unique/,
  ],
  ['a tag of other schemas', 'rev: !!timestamp 2024-01-02', /line 2: Unresolved tag/],
  ['a binary', 'source: !!binary aGVsbG8=', /Unresolved tag/],
  ['a tag of nobody', 'tags: !evil [a]', /Unresolved tag/],
  ['merging', '<<: {rev: 2024-01-02}', /is not a field/],
  ['a list as a key', '? [a, b]\n: c', /keys/],
  ['brackets that do not end', '['.repeat(10_000), /nested deeper/],
  ['brackets in pairs', '['.repeat(5_000) + ']'.repeat(5_000), /nested deeper/],
  ['dashes', '- '.repeat(7_000), /nested deeper/],
  [
    'maps in maps',
    Array.from({ length: 170 }, (_, level) => `${' '.repeat(level)}a:`).join('\n'),
    /is not a field/,
  ],
  ['too much', `tags: [${'x, '.repeat(6_000)}x]`, /must be at most 16384 bytes/],
  ['a tab', 'tags:\n\t- a', /line 3: /],
  ['another document', 'rev: 2024-01-02\n...\nrev: x', /documents|content/],
])('front matter: %s is refused with its reason, at once', (_what, yaml, message) => {
  const tookMs = processorTime();
  const { problems = [] } = readDocument(`---\n${yaml}\n---\n`);
  expect(tookMs()).toBeLessThan(1_000);
  expect(problems.map((problem) => problem.message).join('; ')).toMatch(message);
  expect(problems.length).toBeLessThanOrEqual(limits.hubNoteProblemsMax);
});

test.each([
  ['', {}, ''],
  ['# Only text\n---\nrev: x\n---\n', {}, '# Only text\n---\nrev: x\n---\n'],
  ['---\n{}\n---\ntext', {}, 'text'],
  ['---\nrev: 2024-01-02\n---', { rev: '2024-01-02' }, ''],
  ['\uFEFF--- \r\nrev: 2024-01-02\r\n---\t\r\ntext\r\n', { rev: '2024-01-02' }, 'text\r\n'],
  ['---\ntags: ["---"]\n---\n---\nmore', { tags: ['---'] }, '---\nmore'],
])('the document %j', (markdown, metadata, text) => {
  expect(readDocument(markdown)).toEqual({ document: { metadata, text, markdown } });
});

test.each([
  ['---\nrev: 2024-01-02\n', 'front-matter'],
  ['x'.repeat(limits.hubNoteBytesMax + 1), 'markdown'],
])('a document is refused whole', (markdown, field) => {
  expect(readDocument(markdown).problems).toMatchObject([{ field }]);
});

test.each([
  ['# The *title* #\ntext', {}, 'The *title*'],
  ['text\n\n## Second\n', {}, 'Second'],
  ['text', { aliases: ['Known as', 'x'] }, 'Known as'],
  ['text', {}, null],
  ['#hashtag', {}, null],
])('the title of %j', (text, metadata, title) => {
  expect(titleOf({ metadata, text })).toBe(title);
});
