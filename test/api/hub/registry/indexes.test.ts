import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { MEDIA_TYPES } from '../../../../daemon/hub/registry/manifests/manifest.ts';
import { receiver } from '../../../support/hub/receiver.ts';
import {
  descriptorOf,
  digestOf,
  imageManifest,
  type RegistryClient,
} from '../../../support/hub/registry-client.ts';
import { serveRegistry, type ServedRegistry } from '../../../support/hub/serve-registry.ts';

const NAME = 'alice/open';

function indexOf(...manifests: object[]): object {
  return {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.ociIndex,
    manifests: manifests.map((one) => {
      const { mediaType } = one as { mediaType: string };
      return descriptorOf(mediaType, JSON.stringify(one));
    }),
  };
}

const digest = (manifest: object): string => digestOf(JSON.stringify(manifest));

/** An image without a tag. */
async function image(alice: RegistryClient, content: string, more = {}): Promise<object> {
  const config = JSON.stringify({ content });
  await alice.pushBlob(NAME, config);
  await alice.pushBlob(NAME, content);
  const manifest = imageManifest(config, [content], more);
  await put(alice, manifest);
  return manifest;
}

async function put(alice: RegistryClient, manifest: object, reference = digest(manifest)): Promise<void> {
  const answer = await alice.putManifest(NAME, reference, manifest);
  expect([answer.status, answer.bytes.toString()]).toEqual([201, '']);
}

async function remove(alice: RegistryClient, manifest: object): Promise<void> {
  expect((await alice.ask('DELETE', `/v2/${NAME}/manifests/${digest(manifest)}`)).status).toBe(202);
}

/** Which of them are there, by name. */
async function there(alice: RegistryClient, manifests: Record<string, object>): Promise<string[]> {
  const found: string[] = [];
  for (const [name, manifest] of Object.entries(manifests)) {
    const { status } = await alice.ask('HEAD', `/v2/${NAME}/manifests/${digest(manifest)}`);
    found.push(...(status === 200 ? [name] : []));
  }
  return found;
}

function about(one: object) {
  return { subject: descriptorOf(MEDIA_TYPES.ociManifest, JSON.stringify(one)) };
}

function files({ hub }: ServedRegistry): string[] {
  return readdirSync(join(hub.directory, 'blobs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

test('an index goes with the images that only it lists, and their room is there again soon after', async () => {
  await using served = await serveRegistry();
  const alice = await served.as('alice');
  // The collection of the start is over by the time that something is pushed.
  await served.hub.clock.advance(1);
  const [one, shared, tagged] = [
    await image(alice, 'one'),
    await image(alice, 'two'),
    await image(alice, 'three'),
  ];
  await put(alice, tagged, 'kept');
  const [first, second] = [indexOf(one, shared, tagged), indexOf(shared)];
  await put(alice, first, 'latest');
  await put(alice, second, 'second');
  const all = { first, second, one, shared, tagged };
  await alice.ask('DELETE', `/v2/${NAME}/manifests/latest`);
  expect(await there(alice, all)).toEqual(['first', 'second', 'one', 'shared', 'tagged']);
  await remove(alice, first);
  expect(await there(alice, all)).toEqual(['second', 'shared', 'tagged']);
  await remove(alice, second);
  expect(await there(alice, all)).toEqual(['tagged']);
  await served.hub.clock.advance(limits.hubCollectSoonMs);
  // A manifest, its configuration and its layer.
  await expect.poll(() => files(served).length).toBe(3);
});

test('a nested index and an attestation go with an index; a signature that it does not list stays', async () => {
  await using served = await serveRegistry();
  const alice = await served.as('alice');
  const app = await image(alice, 'app');
  const proof = await image(alice, 'proof', { ...about(app), artifactType: 'test/proof' });
  const inner = indexOf(app, proof);
  await put(alice, inner);
  const outer = indexOf(inner, app);
  await put(alice, outer, 'latest');
  const signature = await image(alice, 'signature', { ...about(app), artifactType: 'test/signature' });
  const all = { outer, inner, app, proof, signature };
  expect(await there(alice, all)).toEqual(Object.keys(all));
  await remove(alice, outer);
  expect(await there(alice, all)).toEqual(['signature']);
  expect((await alice.ask('GET', `/v2/${NAME}/tags/list`)).json).toMatchObject({ tags: [] });
});

test('webhooks tell each manifest that goes with an index, the index first', async () => {
  await using served = await serveRegistry();
  await using target = await receiver();
  const alice = await served.as('alice');
  const [one, two] = [await image(alice, 'one'), await image(alice, 'two')];
  const index = indexOf(one, two);
  await put(alice, index, 'latest');
  await served.hub.root.hooks.create('alice', 'open', {
    config: { url: target.url, content_type: 'json' },
    events: ['delete', 'package'],
  });
  await remove(alice, index);
  await expect.poll(() => target.received.length).toBe(5);
  const told = target.received.map(({ headers, body }) => {
    const payload = JSON.parse(body) as {
      action?: string;
      ref?: string;
      package?: { package_version?: { version?: string } };
    };
    const { action, ref } = payload;
    return [headers['x-svc-event'], action ?? ref, payload.package?.package_version?.version];
  });
  expect(told).toEqual([
    ['ping', undefined, undefined],
    ['delete', 'latest', undefined],
    ...[index, one, two].map((manifest) => ['package', 'deleted', digest(manifest)]),
  ]);
});

test('a quota has room again for what went with an index', async () => {
  await using served = await serveRegistry({}, 10_000);
  const alice = await served.as('alice');
  await served.hub.clock.advance(1);
  const big = await image(alice, 'x'.repeat(3_000));
  const index = indexOf(big);
  await put(alice, index, 'latest');
  const path = `/v2/${NAME}/blobs/uploads/?digest=${digestOf('y'.repeat(5_000))}`;
  const push = () => alice.ask('POST', path, { body: 'y'.repeat(5_000) });
  expect(await push()).toMatchObject({ status: 403, code: 'DENIED' });
  await remove(alice, index);
  await served.hub.clock.advance(limits.hubCollectSoonMs);
  await expect.poll(async () => (await push()).status).toBe(201);
});

test('an index of more images than one update takes: the rest goes behind the answer', async () => {
  await using served = await serveRegistry();
  const { records, clock } = served.hub;
  const alice = await served.as('alice');
  await clock.advance(1);
  await alice.pushBlob(NAME, '{}');
  const images = Array.from({ length: 60 }, (_, at) =>
    imageManifest('{}', [], { annotations: { at: String(at) } }),
  );
  for (const one of images) {
    await put(alice, one);
  }
  const index = indexOf(...images);
  await put(alice, index, 'latest');
  await remove(alice, index);
  const manifests = async (): Promise<number> => (await records.list('manifest/')).records.length;
  const before = await manifests();
  expect([before > 0, before < 60]).toEqual([true, true]);
  await clock.advance(limits.hubCollectSoonMs);
  await expect.poll(manifests).toBe(0);
  await expect.poll(async () => (await records.list('leftover/')).records).toEqual([]);
});
