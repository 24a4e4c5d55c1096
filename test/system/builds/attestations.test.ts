import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { useBuildBed } from '../../support/buildkit/build-bed.ts';
import type { AskedOutput } from '../../support/buildkit/control-client.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { untar } from '../../support/images/untar.ts';

interface Descriptor {
  digest: string;
  mediaType: string;
  annotations?: Record<string, string>;
  platform?: { os: string };
}
interface Statement {
  predicateType: string;
  subject: { name: string; digest: Record<string, string> }[];
  predicate: Record<string, unknown>;
}
type Manifest = Descriptor & { manifests: Descriptor[]; layers: Descriptor[]; config: Descriptor };
/** What an image is, by digest. */
type Read = (digest: string) => Buffer;

const NAME = '127.0.0.1:5000/app:1';
const DOCKERFILE = [
  'FROM --platform=$BUILDPLATFORM busybox AS made',
  'ARG GREETING',
  'RUN mkdir -p /o/d && echo $GREETING >/o/a && ln /o/a /o/d/same',
  'FROM scratch',
  'COPY --from=made /o /',
];
/** Says of each tree that it sees what is in it. */
const SCANNER = [
  'FROM busybox',
  'COPY <<"END" /scan',
  'test -z "$BUILDKIT_SCAN_FAILS" || exit 3',
  'for tree in "$BUILDKIT_SCAN_SOURCE" "$BUILDKIT_SCAN_SOURCE_EXTRAS"*; do',
  '  test -d "$tree" || continue',
  '  name=$(basename "$tree")',
  '  ! touch "$tree/x" && touch /tmp/x || exit 1',
  '  cd "$tree" && files=$(echo *)',
  '  printf \'{"predicateType":"https://spdx.dev/Document","predicate":{"name":"%s","comment":"%s"}}\' \\',
  '    "$name" "$files" >"$BUILDKIT_SCAN_DESTINATION/$name.spdx.json"',
  'done',
  'END',
  'ENTRYPOINT ["/bin/sh", "/scan"]',
];
const ARGUMENT = { 'build-arg:GREETING': 'hello' };
const HELLO = createHash('sha256').update('hello\n').digest('hex');

/** An image of the store with no file later than its moment. */
const rewritten = (name: string): AskedOutput => ({
  type: 'moby',
  attrs: { name, 'rewrite-timestamp': 'true' },
});

/** Whatever document it is: the engine's own, or what a test is about. */
type Document = Manifest & Statement;
const json = (bytes: Buffer | undefined): Document => JSON.parse(String(bytes)) as Document;

/** What an archive has of blobs, and the one that it is about. */
const opened = (archive: Buffer): { read: Read; root: Descriptor } => {
  const members = new Map(untar(archive).map(({ name, content }) => [name, content]));
  const [root] = json(members.get('index.json')).manifests;
  if (root === undefined) {
    throw new Error('an empty archive');
  }
  const read: Read = (digest) => members.get(`blobs/${digest.replace(':', '/')}`) ?? Buffer.alloc(0);
  return { read, root };
};
/** An index, what it says of its images, and the manifests that are of images. */
const statements = (read: Read, root: Descriptor): { about: Descriptor[]; said: Statement[] } => {
  const { manifests } = json(read(root.digest));
  const about = manifests.filter(({ annotations }) => annotations === undefined);
  const said = manifests
    .filter(({ annotations }) => annotations?.['vnd.docker.reference.type'] === 'attestation-manifest')
    .flatMap(({ digest, annotations, platform }, position) => {
      expect(annotations?.['vnd.docker.reference.digest']).toBe(about[position]?.digest);
      expect(platform?.os).toBe('unknown');
      return json(read(digest)).layers;
    })
    .map(({ digest, mediaType, annotations }) => {
      expect(mediaType).toBe('application/vnd.in-toto+json');
      const statement = json(read(digest));
      expect(annotations?.['in-toto.io/predicate-type']).toBe(statement.predicateType);
      return statement;
    });
  return { about, said };
};

describeEngine(
  'what is said of images that are built',
  (engine) => {
    const bed = useBuildBed(() => engine.daemon, { registry: {} });

    const build = async (
      output: AskedOutput,
      options: Record<string, string>,
      lines: readonly string[] = DOCKERFILE,
    ): Promise<Buffer> => {
      const { server } = bed();
      bed().write(lines);
      server.takes = output.type === 'local' ? 'files' : 'bytes';
      server.sends.length = 0;
      await bed().build([output], { ...ARGUMENT, ...options });
      return server.sends[0]?.bytes ?? Buffer.alloc(0);
    };
    test('provenance lies beside each image of an archive, with steps and Dockerfile', async () => {
      const output = { type: 'oci', attrs: { name: 'app:1' } };
      const platform = 'linux/amd64,linux/arm64';
      const archive = await build(output, { platform, 'attest:provenance': 'mode=max' });
      const { read, root } = opened(archive);
      const { about, said } = statements(read, root);
      expect(said.map(({ subject }) => subject)).toEqual(
        about.map(({ digest }, position) => [
          {
            name: `pkg:docker/app@1?platform=linux%2F${['amd64', 'arm64'][position]}`,
            digest: { sha256: digest.slice('sha256:'.length) },
          },
        ]),
      );
      const predicate = said[0]?.predicate;
      expect(predicate).toMatchObject({
        materials: [{ uri: expect.stringContaining('pkg:docker/busybox@latest?platform=') }],
        invocation: { parameters: { args: { 'build-arg:GREETING': 'hello' } } },
        metadata: {
          'https://mobyproject.org/buildkit@v1#metadata': {
            source: { infos: [{ data: Buffer.from(DOCKERFILE.join('\n')).toString('base64') }] },
          },
        },
      });
      expect(JSON.stringify(predicate)).toContain('docker-image://docker.io/library/busybox:latest');
    });

    test('what clients want by default is beside images alone, and goes to registries', async () => {
      const usual = { 'attest:provenance': 'mode=min,inline-only=true' };
      const { root } = opened(await build({ type: 'oci' }, usual));
      expect(root.mediaType).toBe('application/vnd.oci.image.manifest.v1+json');
      await build({ type: 'image', attrs: { name: NAME, push: 'true' } }, usual);
      const read: Read = (digest) => {
        const [file, ...args] = engine.daemon.netns.enter(
          'curl',
          '--silent',
          '--fail',
          '--header',
          `Accept: application/vnd.oci.image.index.v1+json,application/vnd.oci.image.manifest.v1+json`,
          `http://127.0.0.1:5000/v2/app/${digest}`,
        );
        return execFileSync(file, args);
      };
      const index = json(read('manifests/1'));
      const [image, beside] = index.manifests;
      expect(beside?.annotations?.['vnd.docker.reference.digest']).toBe(image?.digest);
      const [layer] = json(read(`manifests/${beside?.digest}`)).layers;
      const { subject, predicate } = json(read(`blobs/${layer?.digest}`));
      expect(subject[0]?.name).toContain('pkg:docker/127.0.0.1:5000/app@1?platform=');
      expect(JSON.stringify(predicate)).not.toContain('hello');
      // It is an image as before for who pulls it.
      await engine.http.ok('DELETE', `/images/${NAME}`);
      await engine.http.ok('POST', `/images/create?fromImage=${NAME}`);
    });

    test('files come with what is said of each of them', async () => {
      const asked = { 'attest:provenance': 'mode=max,version=v1' };
      const tar = untar(await build({ type: 'tar' }, asked));
      expect(tar.map(({ name }) => name)).toEqual(['a', 'd/', 'd/same', 'provenance.json']);
      const { subject, predicateType } = json(tar.at(-1)?.content);
      expect(predicateType).toBe('https://slsa.dev/provenance/v1');
      expect(subject).toEqual([
        { name: 'a', digest: { sha256: HELLO } },
        { name: 'd/same', digest: { sha256: HELLO } },
      ]);
      await build({ type: 'local' }, { ...asked, platform: 'linux/amd64,linux/arm64' });
      const listed = bed().server.sends[0]?.listed.map(({ stat }) => String(stat.path)) ?? [];
      expect(listed.filter((name) => name.endsWith('.json'))).toEqual([
        'linux_amd64/provenance.json',
        'linux_arm64/provenance.json',
      ]);
      expect(listed).toEqual(listed.toSorted());
    });

    test('a scanner says what is in a result, and in the context where that is to be looked through', async () => {
      await build({ type: 'moby', attrs: { name: 'scanner:1' } }, {}, SCANNER);
      const lines = [...DOCKERFILE.slice(0, -1), 'ARG BUILDKIT_SBOM_SCAN_CONTEXT=1\nCOPY --from=made /o /'];
      const asked = { 'attest:sbom': 'generator=scanner:1', 'build-arg:BUILDKIT_SBOM_SCAN_CONTEXT': '1' };
      const { read, root } = opened(await build({ type: 'oci' }, asked, lines));
      const { said } = statements(read, root);
      expect(said.map(({ predicate }) => predicate)).toEqual([
        { name: 'sbom', comment: 'a d' },
        { name: 'sbom-context', comment: 'Dockerfile' },
      ]);
      const provenance = { 'attest:provenance': 'mode=min' };
      const tar = untar(await build({ type: 'tar' }, { ...asked, ...provenance }, DOCKERFILE));
      expect(tar.map(({ name }) => name).filter((name) => name.endsWith('.json'))).toEqual([
        'provenance.json',
        'sbom.spdx.json',
      ]);
      const { subject } = json(tar.at(-1)?.content);
      expect(subject.map(({ name }) => name)).toEqual(['a', 'd/same']);
      const failing = { 'attest:sbom': 'generator=scanner:1,FAILS=1' };
      await expect(build({ type: 'oci' }, failing)).rejects.toThrow(
        'process "/bin/sh /scan" did not complete successfully: exit code: 3',
      );
      await engine.http.ok('DELETE', '/images/scanner:1');
    });

    test('files of a build are not later than its moment: the same each time, on the same base', async () => {
      const lines = [
        'FROM busybox',
        'RUN mkdir /new && touch /new/file && touch -d @5 /new/old',
        'RUN rm /new/file',
      ];
      const moment = { 'build-arg:SOURCE_DATE_EPOCH': '1700000000', 'no-cache': '' };
      const attrs = { 'rewrite-timestamp': 'true', compression: 'uncompressed' };
      const archive = await build({ type: 'oci', attrs }, moment, lines);
      expect((await build({ type: 'oci', attrs }, moment, lines)).equals(archive)).toBe(true);
      const { read, root } = opened(archive);
      const [base, ...own] = json(read(root.digest)).layers;
      const { RootFS } = await engine.http.ok<{ RootFS: { Layers: string[] } }>(
        'GET',
        '/images/busybox/json',
      );
      expect([base?.digest]).toEqual(RootFS.Layers);
      const times = own
        .flatMap(({ digest }) => untar(read(digest)))
        .map(({ name, mtime }) => [name, mtime.seconds]);
      expect(times).toEqual(
        expect.arrayContaining([
          ['new/', 1_700_000_000],
          ['new/file', 1_700_000_000],
          ['new/old', 5],
        ]),
      );
      expect(times.filter(([, seconds]) => Number(seconds) > 1_700_000_000)).toEqual([]);
      // In the store, too, and it runs.
      await build(rewritten('dated:1'), moment, lines);
      const stored = await engine.http.ok<{ RootFS: { Layers: string[] } }>('GET', '/images/dated:1/json');
      expect(stored.RootFS.Layers.slice(1)).toEqual(own.map(({ digest }) => digest));
      await engine.http.ok('DELETE', '/images/dated:1');
    });

    test('an image whose files are not later than its moment brings its cache along', async () => {
      const lines = ['FROM busybox', 'RUN cat /proc/sys/kernel/random/uuid >/made', 'RUN cp /made /copied'];
      const options = {
        'build-arg:SOURCE_DATE_EPOCH': '1700000000',
        'build-arg:BUILDKIT_INLINE_CACHE': '1',
        'cache-from': 'kept:1',
      };
      const idOf = async (name: string): Promise<string> =>
        (await engine.http.ok<{ Id: string }>('GET', `/images/${name}/json`)).Id;
      await build(rewritten('kept:1'), { ...options, 'no-cache': '' }, lines);
      await engine.http.ok('POST', '/build/prune?all=1');
      await build(rewritten('again:1'), options, lines);
      expect(await idOf('again:1')).toBe(await idOf('kept:1'));
      await engine.http.ok('DELETE', '/images/again:1');
      await engine.http.ok('DELETE', '/images/kept:1');
    });

    test('one platform by platform (BUILDKIT_MULTI_PLATFORM): an index, and a folder', async () => {
      const asked = { 'build-arg:BUILDKIT_MULTI_PLATFORM': '1' };
      const { read, root } = opened(await build({ type: 'oci' }, asked));
      expect(json(read(root.digest)).manifests).toHaveLength(1);
      const [folder] = untar(await build({ type: 'tar' }, asked));
      expect(folder?.name).toMatch(/^linux_\w+\/$/);
      const attrs = { 'platform-split': 'false' };
      const [file] = untar(await build({ type: 'tar', attrs }, asked));
      expect(file?.name).toBe('a');
      await build({ type: 'moby', attrs: { name: 'by-platform:1' } }, asked);
      await engine.http.ok('DELETE', '/images/by-platform:1');
    });
  },
  { alsoNeeds: ['docker-registry'] },
);
