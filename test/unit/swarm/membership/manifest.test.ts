import { expect, test } from 'vitest';
import { parseManifest, type Manifest } from '../../../../swarm/membership/backup/manifest.ts';

const file = (name: string): Manifest['files'][number] => ({ name, bytes: 1, sha256: 'ab'.repeat(32) });
const NAMES = ['ca.pem', 'etcd/member/snap/db', 'etcd/member/wal/0-0.wal', 'node.json', 'node.pem'];
const whole: Manifest = {
  format: 1,
  made: '2026-01-02T03:04:05.678Z',
  engine: '0.1.0',
  etcd: '3.4.23',
  hostname: 'n1',
  node: 'node1',
  cluster: 'cluster1',
  files: NAMES.map(file),
};

test('manifest: what a backup wrote is read', () => {
  expect(parseManifest(JSON.stringify(whole))).toEqual(whole);
});

test.each<[change: unknown, said: string]>([
  ['not JSON', 'it is not JSON'],
  [[], 'it is not the one of a backup'],
  [{ ...whole, format: 2 }, 'its format is 2, this berthd reads 1'],
  [{ ...whole, cluster: undefined }, 'it has no cluster'],
  [{ ...whole, files: {} }, 'its list of files cannot be read'],
  [{ ...whole, files: [{ ...file('node.pem'), sha256: 'x' }] }, 'its list of files cannot be read'],
  [{ ...whole, files: [...whole.files, file('node.pem')] }, 'it names a file twice'],
  [{ ...whole, files: whole.files.filter(({ name }) => name !== 'node.pem') }, 'it lacks node.pem'],
  [
    { ...whole, files: whole.files.filter(({ name }) => !name.includes('wal')) },
    'it lacks the files of etcd/member/wal/',
  ],
  ...[
    '../../etc/passwd',
    '/etc/passwd',
    'etcd/member/wal/../../../x',
    'agent/tasks/x',
    'etcd/member/wal/..',
  ].map((name): [unknown, string] => [
    { ...whole, files: [...whole.files, file(name)] },
    `${JSON.stringify(name)} is no file of a backup`,
  ]),
])('manifest: %j is refused', (value, said) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  expect(() => parseManifest(text)).toThrow(`backup.json cannot be used: ${said}`);
});
