import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ContainerSpec, SecretReference } from '../../../api/types/swarm/container-spec.ts';
import { MemoryFiles } from '../../../daemon/tasks/memory-files.ts';
import { taskToRun } from '../../support/fakes/task-rig.ts';

let root: string;
let mounts: string[];
let files: MemoryFiles;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'berth-test-files-'));
  mounts = [];
  files = new MemoryFiles(path.join(root, 'tasks'), {
    secretTmpfs: async (target) => void mounts.push(target),
    unmount: async (target) => void mounts.splice(mounts.indexOf(target), 1),
    below: () => mounts,
  });
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const own = { UID: String(process.getuid?.()), GID: String(process.getgid?.()) };
const secret = (Name: string, more: object = {}): SecretReference => ({
  SecretID: 's',
  SecretName: 'name',
  File: { Name, ...own, Mode: 0o400, ...more },
});

function task(ContainerSpec: ContainerSpec, id = 'a'.padEnd(25, '0')) {
  const data = Buffer.from('data');
  return taskToRun(
    { ContainerSpec },
    { id, secrets: new Map([['s', data]]), configs: new Map([['c', Buffer.from('other')]]) },
  );
}

async function targets(spec: ContainerSpec): Promise<string[]> {
  return (await files.write(task(spec))).map(({ target }) => target);
}

test.each([
  ['a secret', { Secrets: [secret('key')] }, '/run/secrets/key'],
  ['a secret somewhere else', { Secrets: [secret('/etc/key')] }, '/etc/key'],
  ['a secret without a file', { Secrets: [{ SecretID: 's', SecretName: 'name' }] }, '/run/secrets/name'],
  [
    'a config',
    { Configs: [{ ConfigID: 'c', ConfigName: 'conf', File: { Name: 'a.conf', ...own, Mode: 0o444 } }] },
    '/a.conf',
  ],
])('files of a task: %s', async (_title, spec, target) => {
  expect(await targets(spec)).toEqual([target]);
});

test('files of a task: have their mode, and no other user of the host reaches them', async () => {
  const [file] = await files.write(task({ Secrets: [secret('key', { Mode: 0o4750 })] }));
  const { source = '' } = file ?? {};
  expect([readFileSync(source, 'utf8'), statSync(source).mode & 0o7777]).toEqual(['data', 0o750]);
  expect(
    [path.dirname(source), path.join(root, 'tasks')].map((folder) => statSync(folder).mode & 0o777),
  ).toEqual([0o700, 0o700]);
});

test('files of a task: their file system comes with the first and goes with the last', async () => {
  const directory = path.join(root, 'tasks');
  const [one, two] = ['a', 'b'].map((letter) => task({ Secrets: [secret('key')] }, letter.padEnd(25, '0')));
  await files.remove(one!.id);
  expect([await files.tasks(), mounts]).toEqual([[], []]);
  await Promise.all([files.write(one!), files.write(two!), files.write(one!)]);
  expect([await files.tasks(), mounts, readdirSync(directory)]).toEqual([
    [one!.id, two!.id],
    [directory],
    [one!.id, two!.id],
  ]);
  await files.remove(one!.id);
  expect([await files.tasks(), mounts]).toEqual([[two!.id], [directory]]);
  await files.remove(two!.id);
  expect([await files.tasks(), mounts]).toEqual([[], []]);
});

test('files of a task: without any nothing is mounted', async () => {
  expect([await targets({}), mounts]).toEqual([[], []]);
});

test.each<[string, ContainerSpec, string]>([
  [
    'one that has not come',
    { Secrets: [{ SecretID: 'x', SecretName: 'name' }] },
    'has not come with its task',
  ],
  ['an owner that is no number', { Secrets: [secret('key', { UID: 'root' })] }, 'UID of secret name: "root"'],
])('files of a task: refuse %s', async (_title, spec, text) => {
  await expect(files.write(task(spec))).rejects.toThrow(text);
});

test('files of a task: an id that is none never becomes a path', async () => {
  await expect(files.remove('../../etc')).rejects.toThrow('no id of a task');
});
