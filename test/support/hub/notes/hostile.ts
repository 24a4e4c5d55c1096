import { limits } from '../../../../daemon/base/limits.ts';

const FRONT = limits.hubNoteFrontMatterBytesMax - 100;
const TEXT = limits.hubNoteRenderedMax;

/** As many of a piece as `bytes` have room for. */
function filled(piece: string, bytes: number): string {
  return piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)));
}

function fronted(yaml: string): string {
  return `---\n${yaml}\n---\n`;
}

const bomb = [
  'a: &a [x, x, x, x, x, x, x, x, x]',
  ...'bcdefghi'.split('').map((name, index) => {
    const before = 'abcdefgh'[index] ?? '';
    return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`;
  }),
].join('\n');

/** Front matter that is made to keep a reader busy, each as large as front matter may be. */
export const HOSTILE_YAML: readonly (readonly [title: string, yaml: string])[] = [
  ['a bomb of aliases', bomb],
  [
    'anchors that nobody uses',
    Array.from({ length: 900 }, (_, index) => `k${index}: &a${index} x`).join('\n'),
  ],
  ['aliases of one text', `source: &a x\ntags: [${filled('*a, ', FRONT)}x]`],
  ['the same key again and again', filled('rev: 2024-01-02\n', FRONT)],
  ['keys of all names', Array.from({ length: 1_500 }, (_, index) => `k${index}: x`).join('\n')],
  ['dates that are none', `tags: [${filled('2024-13-41T99:99:99.999999999Z, ', FRONT)}x]`],
  ['digits', `rev: ${filled('9', FRONT)}`],
  ['digits that end badly', `rev: ${filled('1_', FRONT)}e`],
  ['blanks', `tags:${filled(' ', FRONT)}a`],
  ['blanks before a comment', `tags: "${filled(' \\\n', FRONT)}`],
  ['quotes that do not end', `tags: "${filled('\\"', FRONT)}`],
  ['lines in a block', `source: |\n${filled(' \n', FRONT)}`],
  ['lines in a text', `source: a\n${filled('  b\n\n', FRONT)}`],
  ['comments', filled('#\n', FRONT)],
  ['question marks', filled('? ', FRONT)],
  ['colons', filled(': ', FRONT)],
  ['maps in a line', `tags: ${filled('{', 90)}${filled('a: b, ', FRONT - 200)}`],
  ['tags of nobody', filled('!a ', FRONT)],
  ['percents', filled('%a\n', FRONT)],
  ['documents', filled('--- a\n', FRONT)],
  ['an address of many colons', `source: http://${filled('a:', FRONT)}`],
  ['an address of many at signs', `source: http://${filled('%aa', FRONT)} `],
  ['an address of an IPv6 that does not end', `source: http://[${filled('a:', FRONT)}`],
];

/** Markdown that is made to keep a reader or a renderer busy. */
export const HOSTILE_MARKDOWN: readonly (readonly [title: string, markdown: string])[] = [
  ['a heading of blanks', `# a${' '.repeat(limits.hubNoteTitleSearched)}x`],
  ['a heading of hashes', `# ${'#'.repeat(limits.hubNoteTitleSearched)}x`],
  ['a heading of both', `# ${filled(' #', limits.hubNoteTitleSearched)}x`],
  ['empty headings', filled('# \n', limits.hubNoteBytesMax)],
  ['lines', filled('\n', limits.hubNoteBytesMax)],
  ['a fence that does not end', fronted('').slice(0, 4) + filled('\n', limits.hubNoteBytesMax - 10)],
  ['fences that are none', `---\n${filled('--- x\n', limits.hubNoteBytesMax - 10)}`],
  ['a fence of blanks', `---${filled(' ', limits.hubNoteBytesMax - 10)}x`],
  ['brackets', filled('[', TEXT)],
  ['brackets of images', filled('![', TEXT)],
  ['links in links', filled('[a](', TEXT)],
  ['emphasis', filled('*a_', TEXT)],
  ['emphasis of many kinds', filled('*a **b _c __d ', TEXT)],
  ['backticks', Array.from({ length: 250 }, (_, index) => '`'.repeat(index + 1)).join(' ')],
  ['quotes in quotes', filled('>', TEXT)],
  ['lists in lists', filled('- ', TEXT)],
  ['numbers in lists', filled('1. ', TEXT)],
  ['tables', `${filled('|a', TEXT / 2)}\n${filled('|-', TEXT / 2)}`],
  ['references', filled('[a]: b\n', TEXT)],
  ['references that lead nowhere', filled('[a][b]', TEXT)],
  ['HTML that does not end', filled('<a ', TEXT)],
  ['comments of HTML', filled('<!--', TEXT)],
  ['entities', filled('&', TEXT)],
  ['addresses in brackets', filled('<http://a', TEXT)],
  ['backslashes', filled('\\', TEXT)],
];

/** All of them as whole documents. */
export const HOSTILE_NOTES: readonly (readonly [title: string, markdown: string])[] = [
  ...HOSTILE_YAML.map(([title, yaml]) => [title, fronted(yaml)] as const),
  ...HOSTILE_MARKDOWN,
];
