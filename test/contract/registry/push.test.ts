import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ProgressMessage, RegistryAuth } from '../../../api/types/image.ts';
import { FaultProxy } from '../../support/registry/fault-proxy.ts';
import { until } from '../../support/engine/http.ts';
import { imageTar } from '../../support/images/images.ts';
import { collect, ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { fileLayer, sha256 } from '../../support/registry/registry-content.ts';
import { ACCOUNT, TestRegistry } from '../../support/registry/registry.ts';
import { TokenServer } from '../../support/registry/token-server.ts';

const said = (messages: readonly ProgressMessage[]): string[] =>
  messages.map(({ status, id }) => [status, id].filter(Boolean).join(' '));

function pushFrom(
  rig: ImagesRig,
  name: string,
  options: { tag?: string; auth?: RegistryAuth; signal?: AbortSignal } = {},
): Promise<ProgressMessage[]> {
  const signal = new AbortController().signal;
  return collect(rig.images.push(name, { auth: {}, signal, ...options }));
}

needs('docker-registry')('push', () => {
  let registry: TestRegistry;
  let proxy: FaultProxy;
  let rig: ImagesRig;
  const layers = [fileLayer('a', 'one'), fileLayer('b', Buffer.alloc(3 << 20, 'b'))];

  beforeAll(async () => {
    registry = await TestRegistry.start({ port: 0 });
    proxy = await FaultProxy.start(registry.address);
    rig = await ImagesRig.create();
  });
  afterAll(async () => {
    await rig[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    proxy.reset();
    // With the layers goes what is known of them in registries.
    for (const { Id } of await rig.images.list({
      all: true,
      filters: new Map(),
      sharedSize: false,
      digests: true,
    })) {
      await rig.images.remove(Id, { force: true, noprune: false });
    }
    await rig.load(imageTar(layers, { tags: ['app:1'] }));
  });

  const tag = (name: string, version = '1'): Promise<void> =>
    rig.images.tag('app:1', { repo: `${proxy.address}/${name}`, tag: version });
  const push = (
    name: string,
    options: { tag?: string; signal?: AbortSignal } = {},
  ): Promise<ProgressMessage[]> => pushFrom(rig, `${proxy.address}/${name}`, { tag: '1', ...options });
  const get = (path: string): Promise<Response> =>
    fetch(`http://${registry.address}/v2/${path}`, {
      headers: { accept: 'application/vnd.docker.distribution.manifest.v2+json' },
    });

  it('gives the registry an image that it checks itself, and says so as dockerd does', async () => {
    await tag('first');
    const messages = await push('first');
    const manifest = await (await get('first/manifests/1')).text();
    const digest = sha256(manifest);
    const { RootFS, Id, RepoDigests } = await rig.images.inspect('app:1');
    const [bottom = '', top = ''] = (RootFS.Layers ?? []).map((layer) => layer.slice(7, 19));
    expect(said(messages).slice(0, 3)).toEqual([
      `The push refers to repository [${proxy.address}/first]`,
      `Preparing ${top}`,
      `Preparing ${bottom}`,
    ]);
    expect(said(messages)).toEqual(
      expect.arrayContaining([
        `The push refers to repository [${proxy.address}/first]`,
        `Pushed ${bottom}`,
        `Pushed ${top}`,
        `1: digest: ${digest} size: ${manifest.length}`,
      ]),
    );
    expect(messages.at(-1)?.aux).toEqual({ Tag: '1', Digest: digest, Size: manifest.length });
    expect(JSON.parse(manifest)).toMatchObject({ schemaVersion: 2, config: { digest: Id } });
    expect(RepoDigests).toEqual([`${proxy.address}/first@${digest}`]);
    expect(rig.events.at(-1)).toMatchObject({ action: 'push', actorId: `${proxy.address}/first:1` });
    // Another implementation can read the blob.
    const blob = (JSON.parse(manifest) as { layers: { digest: string }[] }).layers[0]?.digest ?? '';
    const bytes = Buffer.from(await (await get(`first/blobs/${blob}`)).arrayBuffer());
    expect(sha256(gunzipSync(bytes))).toBe(RootFS.Layers?.[0]);
  });

  it('uploads nothing the second time, nor from another store with the same layers', async () => {
    await tag('twice');
    const first = await push('twice');
    proxy.reset();
    const second = await push('twice');
    expect(said(second).filter((text) => text.startsWith('Layer already exists'))).toHaveLength(2);
    expect(second.at(-1)).toEqual(first.at(-1));
    await using other = await ImagesRig.create();
    await other.load(imageTar(layers, { tags: [`${proxy.address}/twice:1`] }));
    const third = await pushFrom(other, `${proxy.address}/twice`, { tag: '1' });
    expect(third.at(-1)).toEqual(first.at(-1));
    expect(proxy.seen.filter(({ method }) => method === 'PATCH')).toEqual([]);
  });

  it('takes layers over from another repository of the registry', async () => {
    await tag('from');
    await push('from');
    await tag('to');
    const messages = await push('to');
    expect(said(messages).filter((text) => text.startsWith('Mounted from from'))).toHaveLength(2);
    expect((await get('to/manifests/1')).status).toBe(200);
  });

  it('goes on with the layers it began with when the image is removed meanwhile', async () => {
    await tag('removed');
    let goOn: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    proxy.plan = ({ method }) => (method === 'POST' ? { kind: 'hold', until: held } : undefined);
    const pushed = push('removed');
    await until('the upload', () => proxy.seen.some(({ method }) => method === 'POST'));
    await rig.images.remove('app:1', { force: true, noprune: false });
    await rig.images.remove(`${proxy.address}/removed:1`, { force: true, noprune: false });
    goOn?.();
    expect((await pushed).at(-1)?.aux).toMatchObject({ Tag: '1' });
    expect((await get('removed/manifests/1')).status).toBe(200);
    // The push was the last that needed them.
    expect(rig.database.layers.all()).toEqual([]);
  });

  it('without a tag gives all of them', async () => {
    await tag('all', '1');
    await tag('all', '2');
    const messages = await pushFrom(rig, `${proxy.address}/all`);
    expect(messages.flatMap(({ aux }) => (aux === undefined ? [] : [(aux as { Tag: string }).Tag]))).toEqual([
      '1',
      '2',
    ]);
  });

  it.each([
    ['a tag that is not here', 'all', '3', 'not_found', 'tag does not exist: ADDRESS/all:3'],
    [
      'a name that is not here',
      'nowhere',
      '1',
      'not_found',
      'An image does not exist locally with the tag: ADDRESS/nowhere',
    ],
    [
      'a repository that is not here',
      'nowhere',
      undefined,
      'not_found',
      'An image does not exist locally with the tag: ADDRESS/nowhere',
    ],
  ])('refuses %s', async (_title, name, version, code, message) => {
    await tag('all', '1');
    const pushed = pushFrom(rig, `${proxy.address}/${name}`, version === undefined ? {} : { tag: version });
    await expect(pushed).rejects.toMatchObject({ code, message: message.replace('ADDRESS', proxy.address) });
  });

  it('asks for credentials before anything is compressed', async () => {
    await tag('app');
    const basic = { 'www-authenticate': 'Basic realm="x"' };
    proxy.plan = ({ path }) =>
      path === '/v2/' ? undefined : { kind: 'answer', status: 401, headers: basic };
    const told: ProgressMessage[] = [];
    const signal = new AbortController().signal;
    const pushed = (async () => {
      for await (const message of rig.images.push(`${proxy.address}/app`, { tag: '1', auth: {}, signal })) {
        told.push(message);
      }
    })();
    await expect(pushed).rejects.toMatchObject({ code: 'remote', message: 'no basic auth credentials' });
    expect(told).toEqual([{ status: `The push refers to repository [${proxy.address}/app]` }]);
  });

  it.each([
    ['a reset', { kind: 'reset' } as const],
    ['500', { kind: 'answer', status: 500 } as const],
    ['429', { kind: 'answer', status: 429, headers: { 'retry-after': '0' } } as const],
    ['a break in the middle', { kind: 'cut request', bytes: 4096 } as const],
  ])('R39: goes on after %s of an upload', async (title, fault) => {
    const name = `flapping-${title.length}`;
    await tag(name);
    const failed = new Set<string>();
    proxy.plan = ({ method }) => {
      const isFirst = ['POST', 'PATCH', 'PUT'].includes(method) && !failed.has(method);
      failed.add(method);
      return isFirst && (fault.kind !== 'cut request' || method === 'PATCH') ? fault : undefined;
    };
    await push(name);
    expect((await get(`${name}/manifests/1`)).status).toBe(200);
  });

  it('R43: a push that is cancelled leaves nothing running', async () => {
    await tag('cancelled');
    const leaving = new AbortController();
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    proxy.plan = ({ method }) => (method === 'PATCH' ? { kind: 'hold', until: released } : undefined);
    const pushing = push('cancelled', { signal: leaving.signal });
    await expect.poll(() => proxy.seen.some(({ method }) => method === 'PATCH')).toBe(true);
    leaving.abort(new Error('client hung up'));
    await expect(pushing).rejects.toThrow();
    release();
    proxy.reset();
    await push('cancelled');
    expect((await get('cancelled/manifests/1')).status).toBe(200);
  });
});

needs('docker-registry')('push to a registry with tokens', () => {
  let server: TokenServer;
  let registry: TestRegistry;
  let rig: ImagesRig;
  beforeAll(async () => {
    server = await TokenServer.start();
    const { realm, certificate } = server;
    registry = await TestRegistry.start({ port: 0, token: { realm, certificate } });
    rig = await ImagesRig.create();
    await rig.load(imageTar([fileLayer('a', 'one')], { tags: [`${registry.address}/app:1`] }));
  });
  afterAll(async () => {
    await rig[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it('is denied to who may only read', async () => {
    await expect(pushFrom(rig, `${registry.address}/app`)).rejects.toMatchObject({
      message: 'denied: requested access to the resource is denied',
    });
  });

  it('asks for one token that is good for all of it', async () => {
    server.asked.length = 0;
    await pushFrom(rig, `${registry.address}/app`, { auth: ACCOUNT });
    expect(server.asked).toEqual([
      { account: ACCOUNT.username, scopes: expect.arrayContaining(['repository:app:pull,push']) as string[] },
    ]);
  });
});
