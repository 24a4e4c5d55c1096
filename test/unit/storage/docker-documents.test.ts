import { expect, test } from 'vitest';
import { repositoriesOf } from '../../../storage/image-archives/docker-documents.ts';

const BLOB = { mediaType: '', digest: 'sha256:id', size: 1 };

test('save: names that objects have by themselves are names as others', () => {
  const names = ['constructor:keysOfAll', 'app:__proto__', 'app:constructor'];
  const item = { config: BLOB, layers: [BLOB], names, parentId: undefined };
  expect(repositoriesOf([item])?.toString()).toBe(
    '{"app":{"__proto__":"id","constructor":"id"},"constructor":{"keysOfAll":"id"}}\n',
  );
  expect('keysOfAll' in Object).toBe(false);
});

test('save: without tags, and without layers, there are no repositories', () => {
  const item = { config: BLOB, layers: [BLOB], names: ['app:1'], parentId: undefined };
  expect(repositoriesOf([{ ...item, names: [] }])).toBe(undefined);
  expect(repositoriesOf([{ ...item, layers: [] }])).toBe(undefined);
});
