import { execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import type { AttestationStatement, ImageInspect, ImageSummary } from '../../../api/types/image.ts';
import { useBuildBed } from '../../support/buildkit/build-bed.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { untar } from '../../support/images/untar.ts';

/** A manifest, or an index of some. */
interface Raw {
  manifests?: { digest: string }[];
}

const BOTH = { platform: 'linux/arm64,linux/amd64' };
const LINES = [
  'FROM scratch',
  'ARG TARGETARCH',
  'COPY <<END /for',
  '$TARGETARCH',
  'END',
  'LABEL for=$TARGETARCH',
];
const arm64 = encodeURIComponent('{"os":"linux","architecture":"arm64"}');
const SAID = { 'attest:provenance': 'mode=min' };

describeEngine(
  'several images under one name',
  (engine) => {
    const bed = useBuildBed(() => engine.daemon, { registry: {} });
    afterEach(async () => {
      await engine.http.ok('POST', '/containers/prune');
      await engine.http.ok('POST', '/images/prune?filters={"dangling":["false"],"label!":["kept"]}');
    });

    const build = async (
      name: string,
      options: Record<string, string> = BOTH,
      lines: readonly string[] = LINES,
      attrs: Record<string, string> = {},
    ): Promise<ReadonlyMap<string, string>> => {
      bed().write(lines);
      return await bed().build([{ type: 'moby', attrs: { name, ...attrs } }], options);
    };
    const inspect = async (name: string, query = ''): Promise<ImageInspect> =>
      await engine.http.ok<ImageInspect>('GET', `/images/${name}/json?${query}`);
    const platforms = async (name: string): Promise<(string | undefined)[]> =>
      ((await inspect(name, 'manifests=1')).Manifests ?? []).map(({ Kind, Descriptor }) =>
        Kind === 'image' ? Descriptor.platform?.architecture : Kind,
      );
    const list = async (query = ''): Promise<ImageSummary[]> =>
      await engine.http.ok<ImageSummary[]>('GET', `/images/json?${query}`);
    /** What the registry has, as it lies there. */
    const raw = (path: string, reference: string): Raw => {
      const accept = ['index', 'manifest'].map((kind) => `application/vnd.oci.image.${kind}.v1+json`);
      const url = `http://127.0.0.1:5000/v2/${path}/manifests/${reference}`;
      const argv = ['curl', '--silent', '--fail', '--header', `Accept: ${accept.join(',')}`, url];
      const [file, ...args] = engine.daemon.netns.enter(...argv);
      return JSON.parse(execFileSync(file, args).toString()) as Raw;
    };
    const status = async (method: string, path: string): Promise<number> =>
      (await engine.http.request(method, path)).status;
    const create = async (name: string, query = ''): Promise<string> => {
      const path = `/containers/create?${query}`;
      return (await engine.http.ok<{ Id: string }>('POST', path, { Image: name, Cmd: ['/for'] })).Id;
    };

    test('a name means the image for the host, and by a platform the other one', async () => {
      const told = await build('two:1');
      const own = await inspect('two:1');
      const other = await inspect('two:1', `platform=${arm64}`);
      expect([own.Architecture, other.Architecture]).toEqual(['amd64', 'arm64']);
      expect(await inspect(told.get('containerimage.digest') ?? '')).toEqual(own);
      const shown = (await list('manifests=1')).filter(({ RepoTags }) => RepoTags.includes('two:1'));
      expect(shown.map(({ Id }) => Id)).toEqual([own.Id]);
      expect((await list('all=1')).filter(({ Id }) => Id === other.Id)).toEqual([]);
      expect(shown[0]?.Manifests?.map(({ Descriptor }) => Descriptor.platform?.architecture)).toEqual([
        'arm64',
        'amd64',
      ]);
      expect(await status('GET', '/images/two:1/json?platform={"os":"linux","architecture":"s390x"}')).toBe(
        404,
      );
      const older = `/v1.49/images/two:1/json?platform=${arm64}`;
      expect(await engine.http.ok('GET', older)).toMatchObject({
        Id: other.Id,
        Config: { Labels: { for: 'arm64' } },
      });
      const history = await engine.http.ok<{ Id: string }[]>(
        'GET',
        `/images/two:1/history?platform=${arm64}`,
      );
      expect(history[0]?.Id).toBe(other.Id);
      const id = await create('two:1', 'platform=linux/arm64');
      const [container] = await engine.http.ok<{ Image: string; ImageID: string }[]>(
        'GET',
        `/containers/json?all=1&filters={"id":["${id}"]}`,
      );
      expect(container).toMatchObject({ Image: 'two:1', ImageID: other.Id });
    });

    test('it is there after a kill, and a second name means the same', async () => {
      await build('two:1', { ...BOTH, ...SAID });
      const before = await inspect('two:1', 'manifests=1');
      expect(before.Manifests?.map(({ Kind }) => Kind)).toEqual([
        'image',
        'attestation',
        'image',
        'attestation',
      ]);
      const told = async (query: string): Promise<AttestationStatement[]> =>
        await engine.http.ok<AttestationStatement[]>('GET', `/images/two:1/attestations?${query}`);
      const [said] = await told(`statement=1&platform=${arm64}&type=https://slsa.dev/provenance/v0.2`);
      const about = before.Manifests?.[0]?.ID.replace('sha256:', '');
      expect(said?.Statement).toMatchObject({ subject: [{ digest: { sha256: about } }] });
      expect(await told('type=other')).toEqual([]);
      await engine.http.ok('POST', '/images/two:1/tag?repo=again&tag=2');
      await engine.daemon.restart();
      expect((await inspect('again:2', 'manifests=1')).Manifests).toEqual(before.Manifests);
      await engine.http.ok('DELETE', '/images/two:1');
      expect((await inspect('again:2', `platform=${arm64}`)).Architecture).toBe('arm64');
      const id = (await inspect('again:2', `platform=${arm64}`)).Id;
      expect((await engine.http.request('DELETE', `/images/${id}?force=1`)).text).toContain(
        'image is one of the platforms of again:2',
      );
      await engine.http.ok('DELETE', '/images/again:2');
      expect(await status('GET', `/images/${id}/json`)).toBe(404);
    });

    test('one platform is removed: what a container needs stays', async () => {
      await build('two:1');
      const { Id } = await inspect('two:1');
      const container = await create('two:1', 'platform=linux/arm64');
      const path = `/images/two:1?platforms=${arm64}`;
      expect(await status('DELETE', path)).toBe(409);
      await engine.http.ok('DELETE', `/containers/${container}`);
      expect(await platforms('two:1')).toEqual(['arm64', 'amd64']);
      await engine.http.ok('DELETE', path);
      expect([await platforms('two:1'), (await inspect('two:1')).Id]).toEqual([['amd64'], Id]);
      expect(await status('DELETE', path)).toBe(404);
      await build('two:1', { ...BOTH, ...SAID });
      await engine.http.ok('DELETE', `/images/two:1?platforms=${arm64.replace('arm64', 'amd64')}`);
      expect(await platforms('two:1')).toEqual(['arm64', 'attestation']);
      await engine.daemon.restart();
      expect(await platforms('two:1')).toEqual(['arm64', 'attestation']);
      expect((await inspect('two:1')).Architecture).toBe('arm64');
    });

    test('what was under a name before goes as any image without a name does', async () => {
      await build('two:1');
      const before = await inspect('two:1', `platform=${arm64}`);
      await build('two:1', BOTH, [...LINES, 'LABEL now=1']);
      expect((await list('filters={"dangling":["true"]}')).length).toBe(1);
      await engine.http.ok('POST', '/images/prune');
      expect(await status('GET', `/images/${before.Id}/json`)).toBe(404);
      expect(await platforms('two:1')).toEqual(['arm64', 'amd64']);
      // The one for the host is the same: only the other has no name any more.
      await build('one:1', { platform: 'linux/amd64' }, [...LINES, 'LABEL now=1']);
      await build('two:1', { platform: 'linux/amd64' }, [...LINES, 'LABEL now=1']);
      expect((await list('filters={"dangling":["true"]}')).length).toBe(1);
      expect(await platforms('two:1')).toEqual(['amd64']);
    });

    test('saved and loaded it is the same, and one platform alone is an image', async () => {
      const told = await build('two:1', { ...BOTH, ...SAID });
      const digest = told.get('containerimage.digest');
      const before = await inspect('two:1', 'manifests=1');
      const tar = (await engine.http.request('GET', '/images/two:1/get')).bytes;
      const one = (await engine.http.request('GET', `/images/two:1/get?platform=${arm64}`)).bytes;
      const members = new Map(untar(tar).map(({ name, content }) => [name, content.toString()]));
      expect(JSON.parse(members.get('index.json') ?? '')).toMatchObject({ manifests: [{ digest }] });
      expect(JSON.parse(members.get('manifest.json') ?? '')).toMatchObject([{ RepoTags: ['two:1'] }]);
      await engine.http.ok('DELETE', '/images/two:1');
      await engine.http.ok('POST', '/build/prune?all=1');
      const load = async (bytes: Buffer, query = ''): Promise<string> =>
        (await engine.http.request('POST', `/images/load?quiet=1&${query}`, { body: bytes })).text;
      expect(await load(tar)).toContain('Loaded image: two:1');
      expect((await inspect('two:1', 'manifests=1')).Manifests).toEqual(before.Manifests);
      await engine.http.ok('DELETE', '/images/two:1');
      await load(tar, `platform=${arm64}`);
      expect(await platforms('two:1')).toEqual(['arm64']);
      await engine.http.ok('DELETE', '/images/two:1');
      await load(one);
      expect(await platforms('two:1')).toEqual(['arm64']);
    });

    test('annotations stay with it: shown, saved and loaded, pushed', async () => {
      const name = '127.0.0.1:5000/annotated';
      const told = await build(`${name}:1`, BOTH, LINES, {
        'annotation-manifest[linux/arm64].a': 'm',
        'annotation-manifest-descriptor.b': 'd',
        'annotation-index.c': 'i',
        'annotation-index-descriptor.d': 'x',
      });
      const before = await inspect(`${name}:1`, 'manifests=1');
      expect(before.Descriptor).toMatchObject({
        digest: told.get('containerimage.digest'),
        annotations: { d: 'x' },
      });
      expect(before.Manifests?.map(({ Descriptor }) => Descriptor.annotations)).toEqual([
        { b: 'd' },
        { b: 'd' },
      ]);
      expect((await inspect(`${name}:1`, `platform=${arm64}`)).Descriptor).toEqual(
        before.Manifests?.[0]?.Descriptor,
      );
      expect(await engine.http.ok('GET', `/v1.47/images/${name}:1/json`)).not.toHaveProperty('Descriptor');
      const tar = (await engine.http.request('GET', `/images/${name}:1/get`)).bytes;
      const one = (await engine.http.request('GET', `/images/${name}:1/get?platform=${arm64}`)).bytes;
      await engine.http.ok('DELETE', `/images/${name}:1`);
      await engine.http.request('POST', '/images/load?quiet=1', { body: one });
      expect((await inspect(`${name}:1`)).Descriptor).toEqual(before.Manifests?.[0]?.Descriptor);
      await engine.http.request('POST', '/images/load?quiet=1', { body: tar });
      await engine.daemon.restart();
      expect(await inspect(`${name}:1`, 'manifests=1')).toMatchObject({
        Descriptor: before.Descriptor,
        Manifests: before.Manifests,
      });
      const { text } = await engine.http.request('POST', `/images/${name}/push?tag=1`);
      expect(text).not.toContain('errorDetail');
      const index = raw('annotated', '1');
      expect(index).toMatchObject({ annotations: { c: 'i' }, manifests: [{ annotations: { b: 'd' } }, {}] });
      expect(raw('annotated', index.manifests?.[0]?.digest ?? '')).toMatchObject({ annotations: { a: 'm' } });
    });

    test('an image alone has annotations without an index', async () => {
      const name = '127.0.0.1:5000/alone';
      const options = { platform: 'linux/amd64' };
      const told = await build(`${name}:1`, options, LINES, { 'annotation.a': 'm' });
      const { Id, Descriptor } = await inspect(`${name}:1`);
      expect([told.get('containerimage.digest'), told.get('containerimage.config.digest')]).toEqual([
        Descriptor?.digest,
        Id,
      ]);
      // The same image without them: another name, one image.
      await build('plain:1', options);
      expect((await inspect('plain:1')).Id).toBe(Id);
      const tar = (await engine.http.request('GET', `/images/get?names=${name}:1&names=plain:1`)).bytes;
      await engine.http.ok('DELETE', `/images/${name}:1`);
      await engine.http.ok('DELETE', '/images/plain:1');
      await engine.http.request('POST', '/images/load?quiet=1', { body: tar });
      expect((await inspect(`${name}:1`)).Descriptor).toEqual(Descriptor);
      expect((await inspect('plain:1')).Descriptor).not.toEqual(Descriptor);
      await engine.http.ok('POST', `/images/${name}/push?tag=1`);
      expect(raw('alone', '1')).toMatchObject({
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        annotations: { a: 'm' },
      });
    });

    test('beside an image alone it is saved as well', async () => {
      await build('two:1');
      await build('one:1', { platform: 'linux/amd64' }, [...LINES, 'LABEL one=1']);
      const alone = (await inspect('one:1', 'manifests=1')).Manifests;
      const tar = (await engine.http.request('GET', '/images/get?names=two:1&names=one:1')).bytes;
      await engine.http.ok('DELETE', '/images/two:1');
      await engine.http.ok('DELETE', '/images/one:1');
      const { text } = await engine.http.request('POST', '/images/load?quiet=1', { body: tar });
      expect(text).toContain('Loaded image: two:1');
      expect(text).toContain('Loaded image: one:1');
      expect(await platforms('two:1')).toEqual(['arm64', 'amd64']);
      expect((await inspect('one:1', 'manifests=1')).Manifests).toEqual(alone);
    });

    test('a push gives a registry all of it, or one platform', async () => {
      const name = '127.0.0.1:5000/two';
      await build(`${name}:1`, { ...BOTH, ...SAID });
      const push = async (query: string): Promise<string> => {
        const { text } = await engine.http.request('POST', `/images/${name}/push?${query}`);
        expect(text).not.toContain('errorDetail');
        return /"Digest":"([^"]+)"/.exec(text)?.[1] ?? '';
      };
      const digest = await push('tag=1');
      expect((await inspect(`${name}:1`)).RepoDigests).toEqual([`${name}@${digest}`]);
      // By the digest of the push it is the list, too, after a restart as well.
      await engine.daemon.restart();
      for (const named of [`${name}@${digest}`, digest]) {
        expect(await platforms(named)).toEqual(['arm64', 'attestation', 'amd64', 'attestation']);
        expect((await inspect(named, `platform=${arm64}`)).Architecture).toBe('arm64');
      }
      const alone = await push(`tag=1&platform=${arm64}`);
      expect(alone).not.toBe(digest);
      expect((await inspect(`${name}@${alone}`)).Architecture).toBe('arm64');
      expect(await push('tag=1')).toBe(digest);
      // What is here beside the image that is pulled is not lost.
      await engine.http.ok('POST', `/images/create?fromImage=${name}&tag=1`);
      expect(await platforms(`${name}:1`)).toEqual(['arm64', 'attestation', 'amd64', 'attestation']);
      await engine.http.ok('DELETE', `/images/${name}:1`);
      await engine.http.ok('POST', `/images/create?fromImage=${name}&tag=1&platform=linux/arm64`);
      expect((await inspect(`${name}:1`)).Architecture).toBe('arm64');
    });

    test('of two variants it is the one that is asked for', async () => {
      const lines = ['FROM scratch', 'ARG TARGETVARIANT', 'COPY Dockerfile /', 'LABEL for=$TARGETVARIANT'];
      await build('two:1', { platform: 'linux/arm/v7,linux/arm/v6' }, lines);
      const id = await create('two:1', 'platform=linux/arm/v6');
      const { Config } = await engine.http.ok<{ Config: { Labels: object } }>(
        'GET',
        `/containers/${id}/json`,
      );
      expect(Config.Labels).toEqual({ for: 'v6' });
      await build('on:1', { platform: 'linux/arm/v6' }, ['FROM two:1', 'LABEL on=1']);
      expect((await inspect('on:1')).Config).toMatchObject({ Labels: { for: 'v6', on: '1' } });
    });

    test('a build on it takes the image for its platform', async () => {
      await build('two:1');
      await build('on:1', { platform: 'linux/arm64' }, ['FROM two:1', 'LABEL on=1']);
      const { RootFS, Architecture } = await inspect('on:1');
      expect([Architecture, RootFS]).toEqual(['arm64', (await inspect('two:1', `platform=${arm64}`)).RootFS]);
    });
  },
  { alsoNeeds: ['docker-registry'] },
);
