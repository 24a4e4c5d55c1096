import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { parseImageConfig } from '../../../storage/image/image-config.ts';
import { planParts } from '../../../storage/image-archives/save.ts';

/** The member `repositories` of an image that is saved under these names. */
function repositoriesOf(...names: { repository: string; tag: string }[]): string {
  const configBytes = Buffer.from('{"os":"linux","architecture":"amd64","rootfs":{"type":"layers"}}');
  const diffId = `sha256:${'1'.repeat(64)}`;
  const layer = { diffId, chainId: diffId, tarBytes: 0, read: () => Readable.from([]) };
  const config = parseImageConfig(configBytes, 'image');
  const parts = planParts([{ id: `sha256:${'2'.repeat(64)}`, configBytes, config, names, layers: [layer] }]);
  const found = parts.find(({ name }) => name === 'repositories');
  return found?.kind === 'file' ? String(found.content) : '';
}

test('save: names that objects have by themselves are names as others', () => {
  const text = repositoriesOf(
    { repository: 'constructor', tag: 'keysOfAll' },
    { repository: 'app', tag: '__proto__' },
    { repository: 'app', tag: 'constructor' },
  );
  expect(text.replaceAll(/[0-9a-f]{64}/g, 'id')).toBe(
    '{"constructor":{"keysOfAll":"id"},"app":{"__proto__":"id","constructor":"id"}}\n',
  );
  expect('keysOfAll' in Object).toBe(false);
});
