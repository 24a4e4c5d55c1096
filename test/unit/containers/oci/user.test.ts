import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { readAccountFiles, resolveOwner, resolveUser } from '../../../../daemon/containers/oci/user.ts';

const passwd = `# accounts
root:x:0:0:root:/root:/bin/sh
broken line
huge:x:4294967296:0::/:
negative:x:-1:0::/:
1000:x:0:0:root in disguise:/root:/bin/sh
web:x:33:33:www:/srv/web:/bin/sh
web:x:0:0:second entry:/root:/bin/sh
0x0:x:
`;
const group = `root:x:0:
web:x:33:
log:x:50:web,other
50:x:0:
dev:x:60: web
`;
const files = { passwd, group };

test.each([
  ['', { uid: 0, gid: 0, additionalGids: [0], home: '/root' }],
  ['root', { uid: 0, gid: 0, additionalGids: [0], home: '/root' }],
  ['web', { uid: 33, gid: 33, additionalGids: [33, 50, 60], home: '/srv/web' }],
  ['33', { uid: 33, gid: 33, additionalGids: [33, 50, 60], home: '/srv/web' }],
  ['web:log', { uid: 33, gid: 50, additionalGids: [50], home: '/srv/web' }],
  ['web:', { uid: 33, gid: 33, additionalGids: [33, 50, 60], home: '/srv/web' }],
  // An entry that calls itself 1000 does not make uid 1000 root.
  ['1000', { uid: 1000, gid: 0, additionalGids: [0], home: '/' }],
  ['1000:50', { uid: 1000, gid: 50, additionalGids: [50], home: '/' }],
  [':33', { uid: 0, gid: 33, additionalGids: [33], home: '/root' }],
  ['2147483647:2147483647', { uid: 2147483647, gid: 2147483647, additionalGids: [2147483647], home: '/' }],
])('user "%s" is resolved', (text, user) => {
  expect(resolveUser(text, files)).toEqual(user);
});

test.each([
  ['nobody', 'unable to find user nobody: no matching entries in passwd file'],
  ['0x0', 'unable to find user 0x0: no matching entries in passwd file'],
  ['huge', 'unable to find user huge: no matching entries in passwd file'],
  ['web:nope', 'unable to find group nope: no matching entries in group file'],
  ['4294967296', 'uids and gids must be in range 0-2147483647: 4294967296'],
  ['2147483648', 'uids and gids must be in range 0-2147483647: 2147483648'],
  ['-1', 'uids and gids must be in range 0-2147483647: -1'],
  ['0:-1', 'uids and gids must be in range 0-2147483647: -1'],
  ['9'.repeat(400), `uids and gids must be in range 0-2147483647: ${'9'.repeat(400)}`],
  ['0:0:0', 'invalid user specification: 0:0:0'],
])('user "%s" is refused', (text, message) => {
  expect(() => resolveUser(text, files)).toThrow(new EngineError('invalid_argument', message));
});

test('additional groups are found by name, and numbers need no entry', () => {
  expect(resolveUser('web', files, ['dev', '50', '7']).additionalGids).toEqual([33, 50, 60, 7]);
  expect(() => resolveUser('web', files, ['staff'])).toThrow('unable to find group staff');
  expect(() => resolveUser('web', files, ['4294967296'])).toThrow('uids and gids must be in range');
});

test('more groups than the runtime can look up in time are refused, wherever they come from', () => {
  const many = Array.from({ length: 2000 }, (_, index) => `g${index}:x:${index + 1}:web`).join('\n');
  const message = /^user web is in 200\d groups, at most 1024 are possible$/;
  expect(() => resolveUser('web', { passwd, group: many })).toThrow(message);
  const added = Array.from({ length: 2000 }, () => 'log');
  expect(() => resolveUser('web', files, added)).toThrow(message);
});

test('a root without account files knows numbers only', () => {
  const none = { passwd: undefined, group: undefined };
  expect(resolveUser('', none)).toEqual({ uid: 0, gid: 0, additionalGids: [0], home: '/' });
  expect(() => resolveUser('root', none)).toThrow('unable to find user root');
});

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'bth-user-'));
  mkdirSync(join(root, 'etc'));
});
afterEach(() => rmSync(root, { recursive: true }));

test('account files are read inside the root, whatever links say', () => {
  symlinkSync('/etc/accounts', join(root, 'etc/passwd'));
  writeFileSync(join(root, 'etc/accounts'), 'me:x:5:6::/me:\n');
  symlinkSync('../../../../../etc/group', join(root, 'etc/group'));
  // The last one leads to itself inside the root; outside it would be the host's.
  expect(() => readAccountFiles(root)).toThrow('read /etc/group: too many links');
  rmSync(join(root, 'etc/group'));
  expect(readAccountFiles(root)).toEqual({ passwd: 'me:x:5:6::/me:\n', group: undefined });
});

test('account files that are no files, or endless, are refused', () => {
  execFileSync('mkfifo', [join(root, 'etc/passwd')]);
  expect(() => readAccountFiles(root)).toThrow('read /etc/passwd: not a regular file');
  rmSync(join(root, 'etc/passwd'));
  writeFileSync(join(root, 'etc/passwd'), Buffer.alloc(1024 * 1024 + 1, 'x'));
  expect(() => readAccountFiles(root)).toThrow('are more than the limit');
});

test.each([
  ['root', [0, 0]],
  ['web', [33, 33]],
  ['33', [33, 33]],
  ['1000', [1000, 1000]],
  ['web:log', [33, 50]],
  ['web:7', [33, 7]],
  [':33', [0, 33]],
  ['nobody', [0, 0], ['user nobody']],
  ['web:staff', [33, 33], ['group staff']],
  ['nobody:staff', [0, 0], ['user nobody', 'group staff']],
  ['1:2:3', [1, 1], ['group 2:3']],
])('files of %j are those of the ids that BuildKit finds', (text, [uid, gid], unknown: string[] = []) => {
  expect(resolveOwner(text, files)).toEqual({ uid, gid, unknown });
  expect(resolveOwner('5:6', { passwd: undefined, group: undefined })).toEqual({
    uid: 5,
    gid: 6,
    unknown: [],
  });
});
