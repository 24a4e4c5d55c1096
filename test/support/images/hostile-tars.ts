import type { Canary } from '../canary.ts';
import { tar, type TarEntry } from './tar.ts';

/** A tar made to write, link or change something outside of where it is unpacked. */
export interface HostileTar {
  title: string;
  /** The canary is what it aims at, by its path on the host. */
  entries: (canary: Pick<Canary, 'folder' | 'file'>) => TarEntry[];
}

const UP = '../'.repeat(20);
const link = (name: string, linkName: string): TarEntry => ({ name, type: '2', linkName, mode: 0o777 });
const hard = (name: string, linkName: string): TarEntry => ({ name, type: '1', linkName });
const file = (name: string, more: Partial<TarEntry> = {}): TarEntry => ({
  name,
  content: 'hostile',
  ...more,
});
const CAPABILITY = Buffer.from('0100000200040000000000000000000000000000', 'hex');

/** Where a symbolic link leads, and what is then done through it. */
const LEADS: readonly [string, (canary: Pick<Canary, 'folder' | 'file'>) => string][] = [
  ['an absolute link', ({ folder }) => folder],
  ['a climbing link', ({ folder }) => `${UP}${folder.slice(1)}`],
  ['a link through /proc/self/root', ({ folder }) => `/proc/self/root${folder}`],
  ['a link through /proc/1/cwd', ({ folder }) => `/proc/1/cwd/${UP}${folder.slice(1)}`],
];

const THROUGH: readonly [string, (at: string) => TarEntry[]][] = [
  ['a file through it', (at) => [file(`${at}/file`), file(`${at}/new`)]],
  [
    'a directory through it',
    (at) => [
      { name: `${at}/`, mode: 0o777 },
      { name: `${at}/made/`, mode: 0o777 },
    ],
  ],
  ['a mode and an owner through it', (at) => [{ name: `${at}/.`, type: '5', mode: 0o4777, uid: 7, gid: 7 }]],
  ['a link through it', (at) => [link(`${at}/link`, '/etc')]],
  ['a hard link to what it leads to', (at) => [hard('stolen', `${at}/file`), file('stolen')]],
  ['a hard link into it', (at) => [file('mine', { mode: 0o4755 }), hard(`${at}/planted`, 'mine')]],
  ['a device through it', (at) => [{ name: `${at}/device`, type: '3', major: 1, minor: 3 }]],
  ['a whiteout through it', (at) => [{ name: `${at}/.wh.file` }, { name: `${at}/.wh..wh..opq` }]],
  ['an attribute through it', (at) => [file(at, { pax: { 'SCHILY.xattr.user.hostile': 'x' } })]],
];

const SINGLE: readonly HostileTar[] = [
  one('a name that climbs', ({ file: path }) => [file(`${UP}${path.slice(1)}`)]),
  one('a name that climbs in its middle', ({ file: path }) => [file(`a/b/${UP}${path.slice(1)}`)]),
  one('an absolute name', ({ file: path }) => [file(path)]),
  one('a name of many slashes', ({ file: path }) => [file(`////.//./${path}`)]),
  one('a pax name that climbs', ({ file: path }) => [file('a', { pax: { path: `${UP}${path.slice(1)}` } })]),
  one('a pax name over a harmless one', ({ file: path }) => [file('ok', { pax: { path } })]),
  one('a pax link name over a harmless one', ({ folder }) => [
    { name: 'l', type: '2', linkName: 'ok', pax: { linkpath: folder } },
    file('l/file'),
  ]),
  one('a pax size that hides a member', ({ file: path }) => [
    { name: 'a', content: tar([file(path)]), pax: { size: '0' } },
  ]),
  one('a pax size beyond the end', () => [file('a', { pax: { size: '999999999' } })]),
  one('a GNU long name that climbs', ({ file: path }) => [longName(`${UP}${path.slice(1)}`), file('a')]),
  one('a GNU long link name', ({ folder }) => [longName(folder, 'K'), link('l', 'ok'), file('l/file')]),
  one('a hard link that climbs', ({ file: path }) => [hard('h', `${UP}${path.slice(1)}`), file('h')]),
  one('a hard link to an absolute name', ({ file: path }) => [hard('h', path), file('h')]),
  one('a hard link to a link that leads out', ({ file: path }) => [
    link('l', path),
    hard('h', 'l'),
    file('h'),
  ]),
  one('a file over a link that leads out', ({ file: path }) => [
    link('l', path),
    file('l', { mode: 0o4777 }),
  ]),
  one('a directory over a link that leads out', ({ folder }) => [
    link('l', folder),
    { name: 'l/', mode: 0o777 },
    file('l/file'),
  ]),
  one('a link over a directory that is then used', ({ folder }) => [
    { name: 'd/' },
    file('d/file'),
    link('d', folder),
    file('d/file'),
  ]),
  one('a directory, a link, a file of one name', ({ folder }) => [
    { name: 'x/' },
    link('x', folder),
    file('x'),
    { name: 'x/' },
    file('x/file'),
  ]),
  one('links in a row, the last out', ({ folder }) => [
    link('a', 'b'),
    link('b', 'c'),
    link('c', folder),
    file('a/file'),
  ]),
  one('links in a circle', () => [link('a', 'b'), link('b', 'a'), file('a/file')]),
  one('a link to its own parent', ({ folder }) => [
    { name: 'd/' },
    link('d/up', '..'),
    file(`d/up/..${folder}/file`),
  ]),
  one('a whiteout that climbs', ({ file: path }) => [
    { name: `${UP}${path.slice(1).replace(/file$/, '.wh.file')}` },
  ]),
  one('a whiteout of ..', () => [{ name: 'd/' }, { name: 'd/.wh...' }]),
  one('a whiteout of .', () => [{ name: 'd/.wh..' }]),
  one('a whiteout of nothing', () => [{ name: '.wh.' }]),
  one('an opaque mark at an absolute place', ({ folder }) => [{ name: `${folder}/.wh..wh..opq` }]),
  one('a device that means a whiteout', () => [{ name: 'etc', type: '3', major: 0, minor: 0 }]),
  one('a hard link to a whiteout', () => [{ name: '.wh.etc' }, hard('etc2', 'etc')]),
  one('an attribute that redirects', () => [
    { name: 'd/', pax: { 'SCHILY.xattr.trusted.overlay.redirect': '/etc' } },
  ]),
  one('an attribute that makes opaque', () => [
    { name: 'd/', pax: { 'SCHILY.xattr.trusted.overlay.opaque': 'y' } },
  ]),
  one('an attribute of a nested overlay', () => [
    { name: 'd/', pax: { 'SCHILY.xattr.user.overlay.opaque': 'y' } },
  ]),
  one('a capability through a hard link', ({ file: path }) => [
    link('l', path),
    { ...hard('h', 'l'), pax: { 'SCHILY.xattr.security.capability': CAPABILITY } },
  ]),
  one('set-user-id on what a link leads to', ({ file: path }) => [
    link('l', path),
    { name: 'l', type: '2', linkName: path, mode: 0o4777, uid: 1000 },
  ]),
  one('a name with a NUL', ({ file: path }) => [file('a', { pax: { path: `ok\0${path}` } })]),
  one('an owner that wraps to root', () => [file('a', { pax: { uid: '4294967296', gid: '4294967295' } })]),
];

function one(title: string, entries: HostileTar['entries']): HostileTar {
  return { title, entries };
}

/** A GNU header that names the entry after it. */
function longName(name: string, type = 'L'): TarEntry {
  return { name: '././@LongLink', type, content: `${name}\0` };
}

/** All of them; every way through a link by every lead. */
export const HOSTILE_TARS: readonly HostileTar[] = [
  ...SINGLE,
  ...LEADS.flatMap(([lead, target]) =>
    THROUGH.map(([what, entries]) =>
      one(`${lead} and ${what}`, (canary) => [link('l', target(canary)), ...entries('l')]),
    ),
  ),
];

function isLink({ type }: TarEntry): boolean {
  return type === '1' || type === '2';
}

/** One tar in three orders: as it was meant, its links last, and backwards. */
export function orders(entries: readonly TarEntry[]): [string, Buffer][] {
  return [
    ['as it is', tar(entries)],
    ['links last', tar([...entries.filter((entry) => !isLink(entry)), ...entries.filter(isLink)])],
    ['backwards', tar(entries.toReversed())],
  ];
}
