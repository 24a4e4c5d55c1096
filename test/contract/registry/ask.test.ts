import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ImageSearchItem } from '../../../api/types/image.ts';
import { Registries } from '../../../daemon/registry/registries.ts';
import { FaultProxy } from '../../support/registry/fault-proxy.ts';
import { needs } from '../../support/needs.ts';
import {
  fileLayer,
  publish,
  publishIndex,
  type PublishedImage,
} from '../../support/registry/registry-content.ts';
import { TestRegistry } from '../../support/registry/registry.ts';

const item = (name: string, stars: number): ImageSearchItem => ({
  name,
  description: `about ${name}`,
  is_official: stars > 1,
  is_automated: false,
  star_count: stars,
});

needs('docker-registry')('a registry is asked', () => {
  const registries = new Registries({
    settings: () => ({ insecure: [], mirrors: [] }),
    certificateRoots: [],
  });
  const signal = new AbortController().signal;
  let registry: TestRegistry;
  let proxy: FaultProxy;
  let image: PublishedImage;
  beforeAll(async () => {
    registry = await TestRegistry.start({ port: 0 });
    proxy = await FaultProxy.start(registry.address);
    image = await publish(`http://${registry.address}`, 'tools/app:1', [fileLayer('a', 'one')]);
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
  });
  beforeEach(() => proxy.reset());

  const search = (term: string, more: object = {}): Promise<ImageSearchItem[]> =>
    registries.search({ term: `${proxy.address}/${term}`, filters: new Map(), auth: {}, signal, ...more });

  it('distribution: an image, with its platform', async () => {
    expect(await registries.distribution(`${registry.address}/tools/app:1`, {}, signal)).toEqual({
      Descriptor: { mediaType: image.mediaType, digest: image.digest, size: image.size },
      Platforms: [{ architecture: 'amd64', os: 'linux' }],
    });
  });

  it('distribution: an index, with all of them', async () => {
    const platform = { os: 'linux', architecture: 'arm64', variant: 'v8' };
    const digest = await publishIndex(`http://${registry.address}`, 'tools/app:all', [{ image, platform }]);
    expect(await registries.distribution(`${registry.address}/tools/app:all`, {}, signal)).toMatchObject({
      Descriptor: { mediaType: 'application/vnd.oci.image.index.v1+json', digest },
      Platforms: [platform],
    });
  });

  it('distribution: a mirror of Docker Hub is asked first', async () => {
    await publish(`http://${registry.address}`, 'library/mirrored:1', [fileLayer('a', 'one')]);
    const mirrored = new Registries({
      settings: () => ({ insecure: [], mirrors: [`http://${proxy.address}`] }),
      certificateRoots: [],
    });
    expect(await mirrored.distribution('mirrored:1', { username: 'a', password: 'b' }, signal)).toMatchObject(
      {
        Platforms: [{ architecture: 'amd64', os: 'linux' }],
      },
    );
    expect(proxy.seen.map(({ authorization }) => authorization)).not.toContain(expect.anything());
  });

  it('distribution: what is not there is not_found', async () => {
    await expect(
      registries.distribution(`${registry.address}/tools/app:2`, {}, signal),
    ).rejects.toMatchObject({
      code: 'not_found',
      message: 'manifest unknown: manifest unknown',
    });
  });

  it('search: a registry without a search is looked through', async () => {
    expect(await search('APP')).toEqual([
      {
        name: `${proxy.address}/tools/app`,
        description: '',
        is_official: false,
        is_automated: false,
        star_count: 0,
      },
    ]);
    expect(await search('nothing')).toEqual([]);
  });

  it('search: a registry with one is asked, and its answer filtered', async () => {
    const body = JSON.stringify({ num_results: 3, results: [item('a', 3), item('b', 2), item('c', 1)] });
    proxy.plan = () => ({ kind: 'answer', status: 200, body });
    const named = (name: string, stars: number) => ({
      ...item(name, stars),
      name: `${proxy.address}/${name}`,
    });
    expect(await search('word', { limit: 2 })).toEqual([named('a', 3), named('b', 2)]);
    expect(await search('word', { filters: new Map([['stars', ['3']]]) })).toEqual([named('a', 3)]);
    expect(proxy.seen.at(-1)?.path).toBe('/v1/search?q=word&n=25');
    await expect(search('word', { limit: 101 })).rejects.toThrow(
      'Limit 101 is outside the range of [1, 100]',
    );
  });
});
