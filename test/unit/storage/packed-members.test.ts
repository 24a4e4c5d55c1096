import { expect, test } from 'vitest';
import { packMembers, unpackMembers } from '../../../storage/tar/packed-members.ts';
import { plainMember } from '../../../storage/tar/plain-member.ts';
import type { TarMember } from '../../../storage/tar/parser.ts';

const FILE: TarMember = {
  ...plainMember('a', { type: 'file', mode: 0o4755, mtimeSeconds: -5 }),
  size: 2 ** 40,
  offset: 2 ** 41,
  uid: 0xffff_fffe,
  gid: 7,
};

test.each<[string, TarMember[]]>([
  ['nothing', []],
  ['a file', [FILE]],
  ['a directory', [plainMember('d/\xe4', { type: 'directory', mode: 0o1777, mtimeSeconds: 1 })]],
  ['a link', [FILE, { ...FILE, type: 'symlink', linkName: 'a' }, FILE]],
  ['attributes', [{ ...FILE, attributes: new Map([['user.a', Buffer.from('1')]]) }, FILE]],
  ['a sparse file', [{ ...FILE, sparse: [{ offset: 1, size: 2 }] }]],
  ['a second name', [{ ...FILE, sharedWith: 'b' }]],
  ['a device', [{ ...FILE, type: 'character', major: 1, minor: 3 }]],
  ['a name with a NUL', [{ ...FILE, name: 'a\0b' }, FILE]],
  ['an empty name', [{ ...FILE, name: '' }, FILE]],
])('members of a tar come to another thread as they were: %s', (_what, members) => {
  expect(unpackMembers(structuredClone(packMembers(members)))).toEqual(members);
});
