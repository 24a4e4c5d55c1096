import { expect, test } from 'vitest';
import { WORKERS } from '../../../scripts/lib/bundle.ts';
import { repositoryFiles } from '../../../scripts/lib/sources.ts';

test('each thread of the engine has a program of its own in the build, by the name it is started by', () => {
  const files = repositoryFiles('daemon/**/*-worker.ts', 'storage/**/*-worker.ts', 'swarm/**/*-worker.ts');
  const expected = files.map((file) => [file.replace(/^.*\/|\.ts$/g, ''), file]);
  expect(WORKERS).toEqual(Object.fromEntries(expected));
});
