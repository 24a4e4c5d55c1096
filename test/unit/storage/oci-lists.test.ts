import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { Archive } from '../../../storage/image-archives/archive.ts';
import { planDockerArchive } from '../../../storage/image-archives/docker-archive.ts';
import { readRoots } from '../../../storage/image-archives/oci-blobs.ts';
import { planOciLayout } from '../../../storage/image-archives/oci-layout.ts';
import { planLists } from '../../../storage/image-archives/oci-lists.ts';

const OCI = 'application/vnd.oci';
const TYPES = { index: `${OCI}.image.index.v1+json`, manifest: `${OCI}.image.manifest.v1+json` };

interface Described {
  mediaType: string;
  digest: string;
  size: number;
}

/** A layout that is written blob by blob. */
class Layout {
  readonly #files = new Map<string, Buffer>();
  /** Of its archives. */
  bytesRead = 0;

  blob(mediaType: string, content: object): Described {
    const bytes = Buffer.from(JSON.stringify(content));
    const hex = createHash('sha256').update(bytes).digest('hex');
    this.#files.set(`blobs/sha256/${hex}`, bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  }

  image(architecture: string, annotations?: object): Described & { platform: object } {
    const platform = { os: 'linux', architecture };
    const rootfs = { type: 'layers', diff_ids: [] };
    const config = this.blob(`${OCI}.image.config.v1+json`, { ...platform, rootfs });
    const manifest = { schemaVersion: 2, mediaType: TYPES.manifest, config, layers: [], annotations };
    return { ...this.blob(TYPES.manifest, manifest), platform };
  }

  /** The image of `image` by another manifest. */
  form(architecture: string): Described & { platform: object } {
    const { platform, ...own } = this.image(architecture);
    const manifest = JSON.parse(
      String(this.#files.get(own.digest.replace('sha256:', 'blobs/sha256/'))),
    ) as object;
    return { ...this.blob(TYPES.manifest, { ...manifest, form: 'other' }), platform };
  }

  /** Its configuration is no image's: newer builders write artifacts. */
  said(about: string, statements: readonly object[]): object {
    const layers = statements.map((statement) => this.blob('application/vnd.in-toto+json', statement));
    const config = this.blob(`${OCI}.empty.v1+json`, {});
    const manifest = { schemaVersion: 2, mediaType: TYPES.manifest, config, layers };
    const annotations = {
      'vnd.docker.reference.digest': about,
      'vnd.docker.reference.type': 'attestation-manifest',
    };
    const platform = { os: 'unknown', architecture: 'unknown' };
    return { ...this.blob(TYPES.manifest, manifest), annotations, platform };
  }

  index(...manifests: object[]): Described {
    return this.blob(TYPES.index, { schemaVersion: 2, mediaType: TYPES.index, manifests });
  }

  archive(...manifests: object[]): Archive {
    const index = this.index(...manifests);
    return this.archiveOf(index, { annotations: { 'io.containerd.image.name': 'docker.io/library/two:1' } });
  }

  /** Of one root. */
  archiveOf(root: object, more: object): Archive {
    return this.archiveOfAll({ ...root, ...more });
  }

  archiveOfAll(...manifests: object[]): Archive {
    return this.archiveWith('index.json', { manifests });
  }

  archiveWith(document: string, content: object): Archive {
    this.#files.set(document, Buffer.from(JSON.stringify(content)));
    const all = Buffer.concat([...this.#files.values()]);
    let offset = 0;
    const members = new Map<string, { kind: 'file'; offset: number; size: number }>();
    for (const [name, { length: size }] of this.#files) {
      members.set(name, { kind: 'file', offset, size });
      offset += size;
    }
    const spool = {
      fd: -1,
      read: (from: number, size: number) => {
        this.bytesRead += size;
        return Promise.resolve(all.subarray(from, from + size));
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    return new Archive(spool as unknown as ConstructorParameters<typeof Archive>[0], members);
  }
}

test('two images under a name, and what is said of one: by its digest, or of something else', async () => {
  const layout = new Layout();
  const [own, other] = [layout.image('amd64'), layout.image('arm64')];
  const sha256 = own.digest.replace('sha256:', '');
  const elsewhere = [{ name: 'a.spdx', digest: { sha256: 'f00' } }];
  const said = layout.said(own.digest, [
    { predicateType: 'p', subject: [{ name: 'x', digest: { sha256 } }], predicate: { a: 1 } },
    { predicateType: 'q', subject: elsewhere, predicate: {} },
  ]);
  const archive = layout.archive(own, other, said);
  const { lists, rest } = await planLists(archive, await readRoots(archive));
  expect(rest).toEqual([]);
  expect(lists[0]?.names).toMatchObject([{ path: 'library/two', tag: '1' }]);
  const attestations = lists[0]?.images.map((image) =>
    image.attestations.map(({ predicateType, predicate, subjects }) => [
      predicateType,
      predicate.toString(),
      subjects,
    ]),
  );
  expect(attestations).toEqual([
    [
      ['p', '{"a":1}', undefined],
      ['q', '{}', elsewhere],
    ],
    [],
  ]);
});

test('an image alone is no list; images that are not in the tarball are left', async () => {
  const layout = new Layout();
  const missing = { ...layout.image('arm64'), digest: `sha256:${'0'.repeat(64)}` };
  const archive = layout.archive(layout.image('amd64'), missing);
  const { lists, rest } = await planLists(archive, await readRoots(archive));
  expect([lists.length, rest.length]).toEqual([0, 1]);
});

test('annotations are kept: of manifests and of the index, and where something names them for good', async () => {
  const layout = new Layout();
  const own = { ...layout.image('amd64', { a: '1' }), annotations: { b: '2' } };
  const index = layout.blob(TYPES.index, { manifests: [own], annotations: { c: '3' } });
  const named = { 'io.containerd.image.name': 'docker.io/library/two:1', 'config.digest': 'x', d: '4' };
  const archive = layout.archiveOf(index, { annotations: named });
  const { lists, rest } = await planLists(archive, await readRoots(archive));
  expect(rest).toEqual([]);
  expect(lists).toMatchObject([
    {
      isOci: true,
      isAlone: false,
      annotations: { own: { c: '3' }, descriptor: { d: '4' } },
      images: [{ annotations: { own: { a: '1' }, descriptor: { b: '2' } } }],
    },
  ]);
});

test('an image alone with annotations is kept with them; names are none', async () => {
  const layout = new Layout();
  const kept = layout.archiveOf(layout.image('amd64', { a: '1' }), {});
  const { lists } = await planLists(kept, await readRoots(kept));
  expect(lists).toMatchObject([
    { isAlone: true, annotations: undefined, images: [{ annotations: { own: { a: '1' }, descriptor: {} } }] },
  ]);
  const annotations = { 'containerd.io/distribution.source.docker.io': 'library/two' };
  const plain = layout.archiveOf(layout.image('amd64'), { annotations });
  expect(await planLists(plain, await readRoots(plain))).toMatchObject({ lists: [], rest: [{}] });
  const large = layout.archiveOf(layout.image('amd64', { a: 'x'.repeat(65_536) }), {});
  await expect(planLists(large, await readRoots(large))).rejects.toThrow('at most 65536 are kept');
});

test('an image that is there twice, or in several forms, is one; of it is said what is said of any form', async () => {
  const layout = new Layout();
  const [own, form, other] = [layout.image('amd64'), layout.form('amd64'), layout.image('arm64')];
  const said = layout.said(form.digest, [{ predicateType: 'p', predicate: {} }]);
  const archive = layout.archive(own, own, form, other, said);
  const { lists } = await planLists(archive, await readRoots(archive));
  const told = lists[0]?.images.map(({ attestations }) =>
    attestations.map(({ predicateType }) => predicateType),
  );
  expect(told).toEqual([['p'], []]);
  const alone = layout.archive(own, own, form);
  expect((await planLists(alone, await readRoots(alone))).lists).toEqual([]);
});

test('documents are read once, however many point to them', async () => {
  const layout = new Layout();
  const own = layout.image('amd64');
  const more = Array.from({ length: 500 }, (_, n) => ({
    ...own,
    platform: { os: 'linux', architecture: `a${n}` },
  }));
  const index = layout.index(own, ...more);
  const archive = layout.archiveOfAll(...Array.from({ length: 500 }, (_, n) => ({ ...index, n })));
  const roots = await readRoots(archive);
  layout.bytesRead = 0;
  const { rest } = await planLists(archive, roots);
  await planOciLayout(archive, rest, { os: 'linux', architecture: 'amd64' });
  expect(layout.bytesRead).toBeLessThan(1_000_000);
});

test('what is read of one tarball is bounded: a document of many lines may name one large file in each', async () => {
  const layout = new Layout();
  const config = {
    os: 'linux',
    architecture: 'amd64',
    rootfs: { type: 'layers', diff_ids: [] },
    pad: 'x'.repeat(8_000_000),
  };
  const { digest } = layout.blob('config', config);
  const entry = { Config: digest.replace('sha256:', 'blobs/sha256/'), RepoTags: null, Layers: [] };
  const many = layout.archiveWith(
    'manifest.json',
    Array.from({ length: 40 }, () => entry),
  );
  await expect(planDockerArchive(many)).rejects.toThrow(
    'more than 268435456 bytes of documents in one tarball',
  );
});
