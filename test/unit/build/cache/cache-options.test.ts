import { expect, test } from 'vitest';
import {
  namedCaches,
  readCacheExports,
  readCacheImports,
} from '../../../../daemon/build/control/cache-options.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import type { NamedCache } from '../../../../api/types/build/ports.ts';

const named = (type: string, attributes: Record<string, string> = {}): NamedCache => ({
  type,
  attributes: new Map(Object.entries(attributes)),
});

test('exports, with what is not said', () => {
  const asked = [
    named('inline'),
    named('registry', { ref: 'r/c:1', mode: 'max', 'image-manifest': 'false', compression: 'gzip' }),
    named('local', { dest: '/c', tag: 't', 'ignore-error': 'true', 'oci-mediatypes': 'true' }),
  ];
  expect(readCacheExports(asked)).toEqual([
    { type: 'inline' },
    { type: 'registry', reference: 'r/c:1', mode: 'max', isImage: false, ignoresErrors: false },
    { type: 'local', directory: '/c', mode: 'min', isImage: true, ignoresErrors: true },
  ]);
});

test.each([
  [named('gha'), 'cache export gha is not supported'],
  [named('s3'), 'cache export s3 is not supported'],
  [named('azblob'), 'cache export azblob is not supported'],
  [named('registry'), 'cache export registry: ref is missing'],
  [named('local'), 'cache export local: dest is missing'],
  [named('inline', { mode: 'max' }), 'cache export inline: mode=max is not supported'],
  [named('registry', { ref: 'r', compression: 'zstd' }), 'compression=zstd is not supported'],
  [named('registry', { ref: 'r', mode: 'all' }), 'mode=all is not supported'],
  [named('registry', { ref: 'r', 'ignore-error': 'perhaps' }), 'ignore-error=perhaps must be true or false'],
  [named('registry', { ref: 'r', 'registry.insecure': 'true' }), 'registry.insecure=true is not supported'],
])('an export is refused by name: %j', (asked, text) => {
  expect(() => readCacheExports([asked])).toThrow(text);
});

test('imports, and what of them is refused', () => {
  const asked = [named('registry', { ref: 'r:1' }), named('local', { src: '/c', digest: 'sha256:1' })];
  expect(readCacheImports(asked)).toEqual([
    { type: 'registry', reference: 'r:1' },
    { type: 'local', directory: '/c', digest: 'sha256:1' },
  ]);
  expect(() => readCacheImports([named('gha')])).toThrow('cache import gha is not supported');
  expect(() => readCacheImports([named('local', { src: '/c' })])).toThrow('digest is missing');
  const many = Array.from({ length: limits.cachesMax + 1 }, () => named('registry', { ref: 'r' }));
  expect(() => readCacheImports(many)).toThrow(`more than ${limits.cachesMax}`);
});

test('a cache that is named twice is one', () => {
  const one = named('local', { src: '/c', digest: 'd' });
  const same = named('local', { digest: 'd', src: '/c' });
  const other = named('registry', { ref: 'r' });
  expect(namedCaches([one, other], [same])).toHaveLength(2);
});
