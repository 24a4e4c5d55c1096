import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { names, read } from './reading.ts';

const HERE = new URL('dockerfiles/', import.meta.url);
const shapes = readdirSync(HERE).flatMap((file) => /^(.+)\.Dockerfile$/.exec(file)?.[1] ?? []);

/** Written in the shape of files of known projects. `+` in the history is an entry with a layer. */
test.each(shapes)('%s: steps, configuration and history', async (shape) => {
  const text = (ending: string): string => readFileSync(new URL(`${shape}.${ending}`, HERE), 'utf8');
  const { tree, image } = await read(text('Dockerfile'));
  const history = image.history.map(({ createdBy, emptyLayer }) => `${emptyLayer ? '-' : '+'} ${createdBy}`);
  expect({ steps: names(tree), config: image.config, history }).toEqual(JSON.parse(text('json')));
});

test('there are ten of them', () => {
  expect(shapes).toHaveLength(10);
});
