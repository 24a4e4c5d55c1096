import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { serveRegistry } from '../../../support/hub/serve-registry.ts';

test('a repository that is deleted gives back the room of its images soon after', async () => {
  await using served = await serveRegistry();
  const { hub } = served;
  const files = (): string[] =>
    readdirSync(join(hub.directory, 'blobs'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  // The collection of the start is over by the time the image is there.
  await hub.clock.advance(1);
  await (await served.as('alice')).pushImage('alice/open', 'v1');
  expect(files().length).toBeGreaterThan(0);
  await hub.root.repositories.remove('alice', 'open');
  await hub.clock.advance(limits.hubCollectSoonMs);
  await expect.poll(files).toEqual([]);
});
