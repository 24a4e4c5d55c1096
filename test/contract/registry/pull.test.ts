import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ProgressMessage, RegistryAuth } from '../../../api/types/image.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { FaultProxy } from '../../support/registry/fault-proxy.ts';
import { until } from '../../support/engine/http.ts';
import { collect, ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import {
  fileLayer,
  publish,
  publishIndex,
  type PublishedImage,
} from '../../support/registry/registry-content.ts';
import { TestRegistry } from '../../support/registry/registry.ts';

interface Asked {
  tag?: string;
  platform?: string;
  auth?: RegistryAuth;
  signal?: AbortSignal;
  /** Gets the messages as they come. */
  told?: ProgressMessage[];
}

const manifestOf = (
  body: unknown,
  type = 'application/vnd.docker.distribution.manifest.v2+json',
): object => ({
  kind: 'answer',
  status: 200,
  headers: { 'content-type': type },
  body: JSON.stringify(body),
});

needs('docker-registry')('pull', () => {
  let registry: TestRegistry;
  let proxy: FaultProxy;
  let rig: ImagesRig;
  let image: PublishedImage;
  let base: string;

  beforeAll(async () => {
    registry = await TestRegistry.start({ port: 0 });
    base = `http://${registry.address}`;
    proxy = await FaultProxy.start(registry.address);
    rig = await ImagesRig.create();
    image = await publish(base, 'app:1', [fileLayer('a', 'one'), fileLayer('b', 'two')]);
  });
  afterAll(async () => {
    await rig[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    proxy.reset();
    for (const { Id } of await list()) {
      await rig.images.remove(Id, { force: true, noprune: false });
    }
    rig.events.length = 0;
  });

  const pull = async (
    name: string,
    { tag, platform, auth = {}, signal, told = [] }: Asked = {},
  ): Promise<ProgressMessage[]> => {
    const messages = rig.images.pull({
      name: `${proxy.address}/${name}`,
      ...(tag !== undefined && { tag }),
      ...(platform !== undefined && { platform }),
      auth,
      signal: signal ?? new AbortController().signal,
    });
    for await (const message of messages) {
      told.push(message);
    }
    return told;
  };
  const list = (): ReturnType<typeof rig.images.list> =>
    rig.images.list({ all: true, filters: new Map(), sharedSize: false, digests: true });

  it('brings an image with its name and digest, and says so as dockerd does', async () => {
    const messages = await pull('app', { tag: '1' });
    const [first, second] = image.layers.map(({ digest }) => digest.slice(7, 19));
    // A registry that is slow to answer is told of, on a busy machine this one too.
    const said = messages
      .map(({ status, id }) => [status, id].filter(Boolean).join(' '))
      .filter((line) => !line.startsWith('Waiting for'));
    expect(said[0]).toBe('Pulling from app 1');
    expect(said.slice(1, 3)).toEqual([`Pulling fs layer ${first}`, `Pulling fs layer ${second}`]);
    expect(said).toEqual(
      expect.arrayContaining([
        `Verifying Checksum ${first}`,
        `Download complete ${first}`,
        `Pull complete ${first}`,
        `Pull complete ${second}`,
      ]),
    );
    expect(said.slice(-2)).toEqual([
      `Digest: ${image.digest}`,
      `Status: Downloaded newer image for ${proxy.address}/app:1`,
    ]);
    expect(await rig.images.inspect(image.id)).toMatchObject({
      RepoTags: [`${proxy.address}/app:1`],
      RepoDigests: [`${proxy.address}/app@${image.digest}`],
    });
    expect(rig.events).toMatchObject([
      {
        type: 'image',
        action: 'pull',
        actorId: `${proxy.address}/app:1`,
        attributes: { name: `${proxy.address}/app` },
      },
    ]);
    await rig.restart();
    expect(await list()).toMatchObject([{ RepoDigests: [`${proxy.address}/app@${image.digest}`] }]);
  });

  it('fetches nothing twice and says that the image is up to date', async () => {
    await pull('app', { tag: '1' });
    const blobs = proxy.seen.filter(({ path }) => path.includes('/blobs/')).length;
    const messages = await pull('app', { tag: '1' });
    expect(messages.map(({ status }) => status)).toEqual([
      'Pulling from app',
      `Digest: ${image.digest}`,
      `Status: Image is up to date for ${proxy.address}/app:1`,
    ]);
    expect(proxy.seen.filter(({ path }) => path.includes('/blobs/'))).toHaveLength(blobs);
  });

  it('shares layers with what is there already', async () => {
    await publish(base, 'app:more', [fileLayer('a', 'one'), fileLayer('b', 'two'), fileLayer('c', 'three')]);
    await pull('app', { tag: '1' });
    const messages = await pull('app', { tag: 'more' });
    expect(messages.filter(({ status }) => status === 'Already exists')).toHaveLength(2);
    expect(messages.filter(({ status }) => status === 'Pulling fs layer')).toHaveLength(1);
  });

  it('takes a digest, in the name or as the tag, and keeps it as the name', async () => {
    await pull(`app@${image.digest}`);
    expect(await list()).toMatchObject([
      { Id: image.id, RepoTags: [], RepoDigests: [`${proxy.address}/app@${image.digest}`] },
    ]);
    await pull('app', { tag: image.digest });
    expect((await rig.images.inspect(`${proxy.address}/app@${image.digest}`)).Id).toBe(image.id);
    await rig.images.tag(`${proxy.address}/app@${image.digest}`, { repo: 'mine', tag: 'x' });
    expect((await rig.images.inspect('mine:x')).Id).toBe(image.id);
  });

  it('without a tag brings all tags', async () => {
    await publish(base, 'all:1', [fileLayer('a', 'one')]);
    await publish(base, 'all:2', [fileLayer('a', 'two')]);
    const messages = await pull('all');
    expect((await list()).flatMap(({ RepoTags }) => RepoTags).toSorted()).toEqual([
      `${proxy.address}/all:1`,
      `${proxy.address}/all:2`,
    ]);
    expect(messages.at(-1)?.status).toBe(`Status: Downloaded newer image for ${proxy.address}/all`);
  });

  it('takes plain layers, and manifests of OCI', async () => {
    const plain = await publish(base, 'oci:1', [fileLayer('a', 'plain')], { oci: true, compression: 'none' });
    await pull('oci', { tag: '1' });
    expect(await list()).toMatchObject([{ Id: plain.id }]);
  });

  it('takes layers of zstd, and knows their blobs again', async () => {
    const layers = [fileLayer('a', 'of zstd'), fileLayer('b', Buffer.alloc(3 << 20, 'z'))];
    const { id } = await publish(base, 'zstd:1', layers, { oci: true, compression: 'zstd' });
    await pull('zstd', { tag: '1' });
    expect(await list()).toMatchObject([{ Id: id }]);
    const again = await pull('zstd', { tag: '1' });
    expect(again.at(-1)?.status).toMatch(/^Status: Image is up to date/);
  });

  it('chooses from an index by platform, and keeps the digest of the index', async () => {
    const amd = await publish(base, 'multi:amd', [fileLayer('a', 'amd')]);
    const arm = await publish(base, 'multi:arm', [fileLayer('a', 'arm')], { architecture: 'arm64' });
    const index = await publishIndex(base, 'multi:1', [
      { image: arm, platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } },
      { image: amd, platform: { os: 'linux', architecture: 'amd64' } },
    ]);
    await pull('multi', { tag: '1', platform: 'linux/arm64' });
    expect(await list()).toMatchObject([{ Id: arm.id, RepoDigests: [`${proxy.address}/multi@${index}`] }]);
    await pull('multi', { tag: '1' });
    expect((await rig.images.inspect(`${proxy.address}/multi:1`)).Id).toBe(amd.id);
    await expect(pull('multi', { tag: '1', platform: 'linux/s390x' })).rejects.toMatchObject({
      code: 'not_found',
      message: 'no matching manifest for linux/s390x in the manifest list entries',
    });
    await expect(pull('multi', { tag: 'amd', platform: 'linux/arm64' })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining(
        'does not match the specified platform: wanted linux/arm64, actual: linux/amd64',
      ) as string,
    });
  });

  it.each([
    ['app:none', 'not_found', `manifest for ADDRESS/app:none not found: manifest unknown: manifest unknown`],
    [
      'nowhere:1',
      'not_found',
      'manifest for ADDRESS/nowhere:1 not found: manifest unknown: manifest unknown',
    ],
    ['App:1', 'invalid_argument', 'invalid reference format: repository name (App) must be lowercase'],
  ])('refuses %s as %s', async (name, code, message) => {
    await expect(pull(name)).rejects.toMatchObject({
      code,
      message: message.replace('ADDRESS', proxy.address),
    });
  });

  it('R39: goes on where a connection broke off, with the rest only', async () => {
    const big = await publish(base, 'big:1', [fileLayer('big', Buffer.alloc(3 << 20, 'x'))], {
      compression: 'none',
    });
    const blob = `/v2/big/blobs/${big.layers[0]?.digest}`;
    proxy.plan = ({ path }, nth) => (path === blob && nth < 3 ? { kind: 'cut', bytes: 1 << 20 } : undefined);
    await pull('big', { tag: '1' });
    const ranges = proxy.seen.filter(({ path }) => path === blob).map(({ range }) => range);
    expect(ranges).toHaveLength(3);
    expect(ranges[1]).toMatch(/^bytes=\d{5,}-$/);
    expect((await rig.images.inspect(big.id)).RootFS.Layers).toEqual([big.layers[0]?.diffId]);
  });

  it.each([429, 500, 503])('R39: asks again after %i', async (status) => {
    proxy.plan = (_request, nth) =>
      nth === 1 ? { kind: 'answer', status, headers: { 'retry-after': '0' } } : undefined;
    await pull('app', { tag: '1' });
    expect(await list()).toHaveLength(1);
  });

  it('R39: asks again after resets', async () => {
    proxy.plan = (_request, nth) => (nth === 1 ? { kind: 'reset' } : undefined);
    await pull('app', { tag: '1' });
    expect(await list()).toHaveLength(1);
  });

  const page = {
    kind: 'answer',
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<html>',
  } as const;
  it.each([
    ['R41: a page of HTML', page, 'media type "text/html" is no manifest'],
    ['R41: a manifest that is another than its digest', { kind: 'corrupt' }, 'manifest verification failed'],
    [
      'class 12: the first schema',
      manifestOf({ schemaVersion: 1 }, 'application/vnd.docker.distribution.manifest.v1+prettyjws'),
      'schema 1 is not supported',
    ],
    ['class 12: two kinds in one', manifestOf({ schemaVersion: 2, layers: [], manifests: [] }), 'has both'],
    [
      'class 12: another type than its header',
      manifestOf({ mediaType: 'application/vnd.oci.image.index.v1+json', manifests: [] }),
      'is not that of the answer',
    ],
    [
      'class 12: a negative size',
      manifestOf({
        config: {
          mediaType: 'application/vnd.docker.container.image.v1+json',
          digest: `sha256:${'0'.repeat(64)}`,
          size: -1,
        },
        layers: [],
      }),
      'config.size: not a whole number',
    ],
    [
      'class 12: a digest of another algorithm',
      manifestOf({
        config: { mediaType: 'application/vnd.docker.container.image.v1+json', digest: 'md5:00', size: 1 },
        layers: [],
      }),
      'not a sha256 digest',
    ],
    ['class 12: a __proto__ key', { ...manifestOf({}), body: '{"__proto__":{}}' }, 'holds a "__proto__" key'],
    ['class 13: deep nesting', { ...manifestOf({}), body: '['.repeat(100_000) }, 'nested deeper'],
    [
      'class 13: more than a manifest may have',
      { ...manifestOf({}), body: Buffer.alloc(5 << 20, ' ') },
      'is longer than 4194304 bytes',
    ],
  ])('%s is refused', async (_title, fault, message) => {
    proxy.plan = ({ path }) => (path.includes('/manifests/') ? (fault as never) : undefined);
    await expect(pull('app', { tag: '1' })).rejects.toThrow(message);
    expect(await list()).toEqual([]);
  });

  it.each([
    ['R41: other bytes', { kind: 'corrupt' } as const, /mismatch|cannot decompress/],
    [
      'R41: more bytes than announced',
      { kind: 'answer', status: 200, body: Buffer.alloc(100_000) } as const,
      /the registry has 100000 bytes where/,
    ],
    [
      'class 12: nothing',
      { kind: 'answer', status: 200, body: '' } as const,
      /the registry has 0 bytes where/,
    ],
  ])('%s in a blob keep the image away', async (_title, fault, message) => {
    const blob = image.layers[1]?.digest ?? '';
    proxy.plan = ({ path }) => (path.includes(blob) ? fault : undefined);
    await expect(pull('app', { tag: '1' })).rejects.toThrow(message);
    expect(await list()).toEqual([]);
    proxy.reset();
    await pull('app', { tag: '1' });
    expect(await list()).toHaveLength(1);
  });

  it('R41: a redirect that leads round in a circle ends', async () => {
    proxy.plan = ({ path }) =>
      path.includes('/blobs/') ? { kind: 'answer', status: 307, headers: { location: path } } : undefined;
    await expect(pull('app', { tag: '1' })).rejects.toThrow('stopped after 5 redirects');
  });

  it('class 14: what authorizes us stays with the registry that asked', async () => {
    await using elsewhere = await FaultProxy.start(registry.address);
    const header = `Basic ${Buffer.from('me:canary').toString('base64')}`;
    proxy.plan = ({ path, authorization }) => {
      if (authorization !== header) {
        return { kind: 'answer', status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
      }
      return path.includes('/blobs/')
        ? { kind: 'answer', status: 307, headers: { location: `http://${elsewhere.address}${path}` } }
        : undefined;
    };
    await pull('app', { tag: '1', auth: { username: 'me', password: 'canary' } });
    expect(elsewhere.seen.map(({ authorization }) => authorization)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await list()).toHaveLength(1);
  });

  it('says in dockerd’s words that credentials are missing or do not suffice', async () => {
    const basic = { 'www-authenticate': 'Basic realm="x"' };
    proxy.plan = () => ({ kind: 'answer', status: 401, headers: basic });
    await expect(pull('app', { tag: '1' })).rejects.toMatchObject({
      code: 'remote',
      message: expect.stringMatching(/^Get "http:.*": no basic auth credentials$/) as string,
    });
    proxy.plan = () => ({
      kind: 'answer',
      status: 403,
      body: JSON.stringify({
        errors: [{ code: 'DENIED', message: 'requested access to the resource is denied' }],
      }),
    });
    await expect(pull('app', { tag: '1' })).rejects.toMatchObject({
      code: 'not_found',
      message:
        `pull access denied for ${proxy.address}/app, repository does not exist or may require 'docker login': ` +
        'denied: requested access to the resource is denied',
    });
  });

  it('R40: two pulls of one layer download it once, and the second goes on without the first', async () => {
    const shared = await publish(base, 'shared:1', [fileLayer('s', Buffer.alloc(2 << 20, 's'))], {
      compression: 'none',
    });
    const blob = `/v2/shared/blobs/${shared.layers[0]?.digest}`;
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    proxy.plan = ({ path }) => (path === blob ? { kind: 'hold', until: released } : undefined);
    const leaving = new AbortController();
    const first = pull('shared', { tag: '1', signal: leaving.signal });
    const isHeld = (): boolean => proxy.seen.some(({ path }) => path === blob);
    await expect.poll(isHeld).toBe(true);
    const told: ProgressMessage[] = [];
    const second = pull('shared', { tag: '1', told });
    await expect.poll(() => told.map(({ status }) => status)).toContain('Pulling fs layer');
    leaving.abort(new Error('client hung up'));
    await expect(first).rejects.toThrow();
    release();
    await second;
    expect(proxy.seen.filter(({ path }) => path === blob)).toHaveLength(1);
    expect(await list()).toMatchObject([{ Id: shared.id }]);
  });

  it('R40: two pulls of one image at the same time both succeed', async () => {
    await Promise.all([pull('app', { tag: '1' }), pull('app', { tag: '1' })]);
    expect(await list()).toMatchObject([{ Id: image.id }]);
  });

  it('a mirror serves all tags of a repository', async () => {
    await publish(base, 'library/tags:1', [fileLayer('a', 'mirror')]);
    await publish(base, 'library/tags:2', [fileLayer('a', 'mirror')]);
    const before = rig.registry;
    rig.registry = { ...before, settings: { insecure: [], mirrors: [`http://${proxy.address}`] } };
    await collect(rig.images.pull({ name: 'tags', auth: {}, signal: new AbortController().signal }));
    rig.registry = before;
    expect(await list()).toMatchObject([{ RepoTags: ['tags:1', 'tags:2'] }]);
  });

  it.each([
    ['scratch', 'latest', 'forbidden', "'scratch' is a reserved name"],
    [
      'sha256',
      'abc',
      'invalid_argument',
      'refusing to create an ambiguous tag using digest algorithm as name',
    ],
  ])('%s:%s is refused before anybody is asked', async (name, tag, code, message) => {
    const pulled = collect(rig.images.pull({ name, tag, auth: {}, signal: new AbortController().signal }));
    await expect(pulled).rejects.toMatchObject({ code, message });
  });

  it.each(['nowhere.invalid', 'nowhere.invalid:5000'])(
    '%s: a name that does not resolve is told within a second',
    async (domain) => {
      const since = performance.now();
      const signal = new AbortController().signal;
      const pulled = collect(rig.images.pull({ name: `${domain}/app`, tag: '1', auth: {}, signal }));
      await expect(pulled).rejects.toMatchObject({
        code: 'remote',
        message: expect.stringContaining(
          `Get "https://${domain}/v2/": dial tcp: lookup nowhere.invalid: `,
        ) as string,
      });
      expect(performance.now() - since).toBeLessThan(5 * limits.waitingToldMs);
    },
  );

  it('a registry that is slow to answer is named meanwhile', async () => {
    const told: ProgressMessage[] = [];
    let answer!: () => void;
    const held = new Promise<void>((resolve) => (answer = resolve));
    proxy.plan = ({ path }) => (path === '/v2/' ? { kind: 'hold', until: held } : undefined);
    const pulled = pull('app', { tag: '1', told });
    await until('the client to be told', () => told.length > 0);
    expect(told).toEqual([{ status: `Waiting for ${proxy.address}` }]);
    answer();
    expect((await pulled).at(-1)?.status).toBe(`Status: Downloaded newer image for ${proxy.address}/app:1`);
  });

  it('asks mirrors of Docker Hub first, and never with credentials', async () => {
    await publish(base, 'library/mirrored:1', [fileLayer('a', 'mirror')]);
    rig.registry = { ...rig.registry, settings: { insecure: [], mirrors: [`http://${proxy.address}`] } };
    const auth = { username: 'me', password: 'canary' };
    const signal = new AbortController().signal;
    await collect(rig.images.pull({ name: 'mirrored', tag: '1', auth, signal }));
    expect(await list()).toMatchObject([{ RepoTags: ['mirrored:1'] }]);
    expect(proxy.seen.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });
});
