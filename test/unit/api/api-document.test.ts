import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { NEWEST, OLDEST } from '../../../api/versions/version.ts';
import { OPERATIONS_1_24, OPERATIONS_1_55 } from '../../../scripts/api-operations.ts';
import { cover, renderApiDocument } from '../../../scripts/coverage-api.ts';

test('API.md: is what `npm run coverage:api` writes', async () => {
  const written = await readFile(new URL('../../../API.md', import.meta.url), 'utf8');
  expect(written).toBe(renderApiDocument());
});

test.each([
  [40, OPERATIONS_1_24.described, OLDEST],
  [38, OPERATIONS_1_24.referredTo, OLDEST],
  [108, OPERATIONS_1_55, NEWEST],
])('coverage: all %i operations of the document are known to the route table', (count, document, version) => {
  const covered = cover(document, version);
  expect(covered).toHaveLength(count);
  expect(covered.filter(({ state }) => state === 'missing')).toEqual([]);
});
