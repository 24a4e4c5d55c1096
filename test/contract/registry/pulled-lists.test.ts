import { armHere } from '../../support/fakes/failpoints.ts';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ImageInspect, ProgressMessage } from '../../../api/types/image.ts';
import { hostPlatform } from '../../../storage/image/platform.ts';
import { collect, ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { FaultProxy } from '../../support/registry/fault-proxy.ts';
import {
  fileLayer,
  publish,
  publishIndex,
  publishStatements,
  type IndexEntry,
  type PublishedImage,
} from '../../support/registry/registry-content.ts';
import { TestRegistry } from '../../support/registry/registry.ts';

const OTHER = { os: 'linux', architecture: 'riscv64' };
const PROVENANCE = 'https://slsa.dev/provenance/v1';
const BILL = 'https://spdx.dev/Document';
const ACCEPT = ['index', 'manifest'].map((kind) => `application/vnd.oci.image.${kind}.v1+json`).join(',');

/** The host's image second, what is said last. */
const entries = (first: PublishedImage, second: PublishedImage, ...more: IndexEntry[]): IndexEntry[] => [
  { image: first, platform: OTHER, annotations: { of: 'first' } },
  { image: second, platform: { ...hostPlatform() } },
  ...more,
];

needs('docker-registry')('lists that are pulled', () => {
  let registry: TestRegistry;
  let proxy: FaultProxy;
  let rig: ImagesRig;
  let base: string;
  let own: PublishedImage;
  let other: PublishedImage;
  let said: IndexEntry;
  let both: string;

  beforeAll(async () => {
    registry = await TestRegistry.start({ port: 0 });
    base = `http://${registry.address}`;
    proxy = await FaultProxy.start(registry.address);
    own = await publish(base, 'app:own', [fileLayer('a', 'own')], { oci: true });
    other = await publish(base, 'app:other', [fileLayer('a', 'other')], { oci: true, ...OTHER });
    said = await publishStatements(base, 'app', own, { [PROVENANCE]: { by: 'me' } });
    both = await publishIndex(base, 'app:1', entries(other, own, said));
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    rig = await ImagesRig.create();
    proxy.reset();
    return async () => {
      await rig[Symbol.asyncDispose]();
    };
  });

  const named = (name: string): string => `${proxy.address}/${name}`;
  const pull = async (name = 'app:1', platform?: string): Promise<ProgressMessage[]> => {
    const signal = new AbortController().signal;
    const asked = { name: named(name), ...(platform !== undefined && { platform }) };
    return await collect(rig.images.pull({ ...asked, auth: {}, signal }));
  };
  const push = async (name: string): Promise<ProgressMessage[]> => {
    const [repo = '', tag = ''] = name.split(':');
    await rig.images.tag(named('app:1'), { repo: named(repo), tag });
    return await collect(
      rig.images.push(named(repo), { tag, auth: {}, signal: new AbortController().signal }),
    );
  };
  const inspect = (name = named('app:1'), more = {}): Promise<ImageInspect> =>
    rig.images.inspect(name, { manifests: true, ...more });
  const available = async (): Promise<boolean[]> =>
    ((await inspect()).Manifests ?? []).map((manifest) => manifest.Available);
  /** Types of what is said of it. */
  const told = async (statement: boolean): Promise<string[]> =>
    (await rig.images.attestations(named('app:1'), { types: [], statement })).map(
      ({ PredicateType }) => PredicateType,
    );
  /** What the registry has under a name. */
  const raw = async (path: string): Promise<string> => {
    const answer = await fetch(`${base}/v2/${path}`, { headers: { accept: ACCEPT } });
    return await answer.text();
  };

  it('a second platform joins the first under the name, which means the image for the host', async () => {
    for (const platforms of [
      [undefined, 'linux/riscv64'],
      ['linux/riscv64', undefined],
    ]) {
      await pull('app:1', platforms[0]);
      const first = platforms[0] === undefined ? own : other;
      expect((await inspect()).Id).toBe(first.id);
      expect(await available()).toEqual([first === other, first === own, first === own]);
      const again = await pull('app:1', platforms[1]);
      expect(again.at(-1)?.status).toContain('Image is up to date');
      await rig.restart();
      const { Id, RepoDigests, RepoTags, Descriptor, Manifests } = await inspect();
      expect({ Id, RepoDigests, RepoTags, digest: Descriptor?.digest }).toEqual({
        Id: own.id,
        RepoDigests: [named(`app@${both}`)],
        RepoTags: [named('app:1')],
        digest: both,
      });
      expect(Manifests).toMatchObject([
        { ID: other.digest, Available: true, Kind: 'image', Descriptor: { annotations: { of: 'first' } } },
        { ID: own.digest, Available: true, Kind: 'image' },
        { ID: said.image.digest, Available: true, Kind: 'attestation', AttestationData: { For: own.digest } },
      ]);
      for (const name of [named('app:1'), named(`app@${both}`)]) {
        expect((await inspect(name, { platform: OTHER })).Id).toBe(other.id);
      }
      const listed = await rig.images.list({
        all: true,
        filters: new Map(),
        sharedSize: false,
        digests: true,
      });
      expect(listed.map((image) => image.Id)).toEqual([own.id]);
      await rig.images.remove(named('app:1'), { force: false, noprune: false });
      expect(rig.database.images.all()).toEqual([]);
    }
  });

  it('one platform is removed, and the name means the other then', async () => {
    await pull();
    await pull('app:1', 'linux/riscv64');
    const options = { force: false, noprune: false };
    await rig.images.remove(named('app:1'), { ...options, platforms: [{ ...hostPlatform() }] });
    await rig.restart();
    expect(await available()).toEqual([true, false, false]);
    expect(await inspect()).toMatchObject({ Id: other.id, RepoDigests: [named(`app@${both}`)] });
    await rig.images.remove(named('app:1'), { ...options, platforms: [OTHER] });
    expect(rig.database.images.all()).toEqual([]);
  });

  it('provenance comes beside the layers, once; nothing else is asked for', async () => {
    const plain = await publishIndex(base, 'app:plain', entries(other, own));
    await pull('app:plain');
    const blobs = [own.config.digest, own.layers[0]?.digest].map((digest) => `blobs/${digest}`);
    const asked = (): string[] =>
      proxy.seen.map(({ path }) => path.replace('/v2/app/', '')).filter((path) => path !== '/v2/');
    expect(asked()).toEqual(['manifests/plain', `manifests/${own.digest}`, ...blobs]);
    await rig.images.remove(named(`app@${plain}`), { force: true, noprune: false });
    proxy.reset();
    await pull();
    expect(asked()).toContain(`manifests/${said.image.digest}`);
    proxy.reset();
    await pull();
    expect(asked()).toEqual(['manifests/1', `manifests/${own.digest}`]);
    const [statement] = await rig.images.attestations(named('app:1'), { types: [], statement: true });
    expect(statement).toMatchObject({ PredicateType: PROVENANCE, Statement: { predicate: { by: 'me' } } });
  });

  it('other statements are named, and not here; an image comes also where they cannot be had', async () => {
    const more = await publishStatements(base, 'app', own, { [PROVENANCE]: {}, [BILL]: { large: true } });
    await publishIndex(base, 'app:1', entries(other, own, more));
    await pull();
    expect(await told(false)).toEqual([PROVENANCE, BILL]);
    await expect(told(true)).rejects.toThrow('is not here: only provenance is pulled');
    await publishIndex(base, 'app:1', entries(other, own, said));
    proxy.plan = ({ path }) =>
      path.includes(said.image.digest) ? { kind: 'answer', status: 404 } : undefined;
    await pull();
    expect([await available(), await told(false)]).toEqual([[false, true, false], []]);
    proxy.reset();
    await pull();
    expect(await available()).toEqual([false, true, true]);
  });

  it('a statement that is none is left: the image can be saved and pushed all the same', async () => {
    const odd = await publishStatements(base, 'app', own, { [PROVENANCE]: Buffer.from('[]') });
    await publishIndex(base, 'app:1', entries(other, own, odd));
    await pull();
    expect([await available(), await told(false)]).toEqual([[false, true, false], []]);
    await rig.save(named('app:1'));
    await pull('app:1', 'linux/riscv64');
    await rig.save(named('app:1'));
    await push('odd:1');
    await publishIndex(base, 'app:1', entries(other, own, said));
  });

  it("statements of OCI's media type in a list of Docker's are pushed as they were", async () => {
    await publishIndex(base, 'app:1', entries(other, own, said), false);
    await pull();
    await pull('app:1', 'linux/riscv64');
    await push('mixed:1');
    expect(await raw(`mixed/manifests/${said.image.digest}`)).toBe(
      await raw(`app/manifests/${said.image.digest}`),
    );
    await publishIndex(base, 'app:1', entries(other, own, said));
  });

  it('what is all here is pushed as it was; of what is not the image, and that is said', async () => {
    await pull();
    const part = await push('part:1');
    expect(part.at(-1)?.aux).toMatchObject({
      ManifestPushedInsteadOfIndex: true,
      OriginalIndex: { digest: both },
      SelectedManifest: { digest: own.digest, size: own.size },
    });
    expect(await raw('part/manifests/1')).toBe(await raw(`app/manifests/${own.digest}`));
    await pull('app:1', 'linux/riscv64');
    const whole = await push('whole:1');
    expect(whole.at(-1)?.aux).toMatchObject({ Tag: '1', Digest: both });
    expect(await raw('whole/manifests/1')).toBe(await raw('app/manifests/1'));
    const manifest = await raw(`whole/manifests/${said.image.digest}`);
    expect(manifest).toBe(await raw(`app/manifests/${said.image.digest}`));
    expect((await inspect(named(`whole@${both}`), { platform: OTHER })).Id).toBe(other.id);
  });

  it('a registry that has none of it gets a list of the same images, with what is said of them', async () => {
    await pull();
    await pull('app:1', 'linux/riscv64');
    await using elsewhere = await TestRegistry.start({ port: 0 });
    const repo = `${elsewhere.address}/app`;
    await rig.images.tag(named('app:1'), { repo, tag: '1' });
    await collect(rig.images.push(repo, { tag: '1', auth: {}, signal: new AbortController().signal }));
    const accept = { headers: { accept: ACCEPT } };
    const answer = await fetch(`http://${elsewhere.address}/v2/app/manifests/1`, accept);
    expect(await answer.json()).toMatchObject({
      manifests: [{ platform: OTHER, annotations: { of: 'first' } }, {}, { annotations: {} }],
    });
    await rig.images.remove(`${repo}:1`, { force: false, noprune: false });
    await collect(rig.images.pull({ name: repo, tag: '1', auth: {}, signal: new AbortController().signal }));
    const [statement] = await rig.images.attestations(`${repo}:1`, { types: [], statement: true });
    expect(statement).toMatchObject({ Statement: { predicate: { by: 'me' } } });
  });

  it.each(['database.manifest-list.join', 'images.load.commit'])(
    'a pull that fails at %s leaves what was there, and the next one brings it',
    async (point) => {
      await pull();
      armHere(`${point}=error(told by a test)`);
      await expect(pull('app:1', 'linux/riscv64')).rejects.toThrow('told by a test');
      armHere('');
      expect(await available()).toEqual([false, true, true]);
      await rig.restart();
      expect(await available()).toEqual([false, true, true]);
      await pull('app:1', 'linux/riscv64');
      expect(await available()).toEqual([true, true, true]);
    },
  );

  it.each(['images.list.leave', 'database.manifest-list.leave'])(
    'a removal of a platform that fails at %s leaves both',
    async (point) => {
      await pull();
      await pull('app:1', 'linux/riscv64');
      armHere(`${point}=error(told by a test)`);
      const asked = { force: false, noprune: false, platforms: [OTHER] };
      await expect(rig.images.remove(named('app:1'), asked)).rejects.toThrow('told by a test');
      armHere('');
      expect(await available()).toEqual([true, true, true]);
      await rig.restart();
      expect(await available()).toEqual([true, true, true]);
      await rig.images.remove(named('app:1'), asked);
      expect(await available()).toEqual([false, true, true]);
    },
  );

  it('saved and loaded it has the images that were here', async () => {
    await pull();
    await pull('app:1', 'linux/riscv64');
    const tarball = await rig.save(named('app:1'));
    await rig.images.remove(named('app:1'), { force: false, noprune: false });
    await rig.load(tarball);
    expect(await available()).toEqual([true, true, true]);
    expect((await inspect(named('app:1'), { platform: OTHER })).Id).toBe(other.id);
  });

  it('a newer index takes the name; the older one stays by its digest', async () => {
    await pull();
    const newer = await publish(base, 'app:newer', [fileLayer('a', 'newer')], { oci: true });
    const index = await publishIndex(base, 'app:1', entries(other, newer));
    await pull();
    expect((await inspect()).Id).toBe(newer.id);
    expect((await inspect(named(`app@${both}`))).Descriptor?.digest).toBe(both);
    await rig.images.prune(new Map());
    expect(rig.database.manifestLists.all().map(({ id }) => id)).toEqual([index]);
    await publishIndex(base, 'app:1', entries(other, own, said));
  });
});
