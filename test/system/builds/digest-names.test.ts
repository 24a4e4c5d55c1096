import { expect, test } from 'vitest';
import { useBuildBed } from '../../support/buildkit/build-bed.ts';
import { describeEngine } from '../../support/engine/engine.ts';

interface Inspected {
  Id: string;
  RepoTags: string[];
  RepoDigests: string[];
  Manifests: { ID: string }[];
  Identity?: object;
}

describeEngine(
  'what builds call images by their digests',
  (engine) => {
    const bed = useBuildBed(() => engine.daemon, { registry: {} });

    /** Another image for each label. */
    const build = async (
      label: string,
      attrs: Record<string, string>,
      {
        type = 'image',
        options = {},
        lines = ['FROM busybox', `LABEL it=${label}`],
      }: { type?: string; options?: Record<string, string>; lines?: string[] } = {},
    ): Promise<ReadonlyMap<string, string>> => {
      bed().write(lines);
      return await bed().build([{ type, attrs }], options);
    };
    const inspect = async (name: string): Promise<Inspected> =>
      await engine.http.ok<Inspected>('GET', `/images/${name}/json?manifests=1`);

    test('name-canonical is the digest of its manifest', async () => {
      const attrs = { name: 'one:1,other:2', 'name-canonical': 'true' };
      const told = await build('canonical', attrs, { type: 'moby' });
      const digest = told.get('containerimage.digest') ?? '';
      const { Id, RepoDigests, Manifests, Identity } = await inspect('one:1');
      expect(RepoDigests).toEqual([`one@${digest}`, `other@${digest}`]);
      expect(Manifests.map(({ ID }) => ID)).toEqual([digest]);
      expect(told.get('containerimage.config.digest')).toBe(Id);
      // It is said of no registry.
      expect(Identity).toBeUndefined();
      await engine.daemon.restart();
      expect((await inspect(`one@${digest}`)).Id).toBe(Id);
      expect((await inspect('one:1')).Identity).toBeUndefined();
      // The digest goes with the last name of its repository, the image with the last of all.
      await engine.http.ok('DELETE', '/images/other:2');
      expect((await inspect('one:1')).RepoDigests).toEqual([`one@${digest}`]);
      await engine.http.ok('DELETE', '/images/one:1');
      expect((await engine.http.request('GET', `/images/${Id}/json`)).status).toBe(404);
    });

    test('dangling-name-prefix is the name of an image without one', async () => {
      const told = await build('dangling', { 'dangling-name-prefix': 'nameless' });
      const name = `nameless@${told.get('containerimage.digest')}`;
      expect(told.get('image.name')).toBe(name);
      const { Id, RepoTags, RepoDigests } = await inspect(name);
      expect([RepoTags, RepoDigests]).toEqual([[], [name]]);
      const listed = await engine.http.ok<{ Id: string }[]>(
        'GET',
        `/images/json?filters={"dangling":["true"]}`,
      );
      expect(listed.map((each) => each.Id)).toContain(Id);
      await engine.http.ok('DELETE', `/images/${Id}`);
    });

    test('an image that a build pushed is known by its digest, in whatever form it went', async () => {
      const name = '127.0.0.1:5000/app';
      const digests: (string | undefined)[] = [];
      for (const attrs of [{}, { 'oci-mediatypes': 'true' }, { compression: 'zstd' }]) {
        const told = await build('pushed', { ...attrs, name: `${name}:1`, push: 'true' });
        digests.push(told.get('containerimage.digest'));
      }
      // What is said of it lies beside it, in an index.
      const options = { 'attest:provenance': 'mode=min' };
      const told = await build('pushed', { name: `${name}:1`, push: 'true' }, { options });
      digests.push(told.get('containerimage.digest'));
      expect(new Set(digests).size).toBe(4);
      const { Id, RepoDigests, Identity } = await inspect(`${name}:1`);
      expect(RepoDigests).toEqual(digests.map((digest) => `${name}@${digest}`).toSorted());
      expect(Identity).toEqual({ Pull: [{ Repository: name }] });
      await engine.http.ok('DELETE', `/images/${name}:1`);
      await engine.http.ok('POST', `/images/create?fromImage=${name}&tag=${digests[3]}`);
      expect((await inspect(`${name}@${digests[3]}`)).Id).toBe(Id);
      // As clients that build name it: by the digest that they were told.
      expect((await inspect(digests[3] ?? '')).Id).toBe(Id);
      await engine.http.ok('DELETE', `/images/${digests[3]}`);
      expect((await engine.http.request('GET', `/images/${Id}/json`)).status).toBe(404);
    });

    test("an engine's own exporter (moby) pushes, too: several platforms as well", async () => {
      const name = '127.0.0.1:5000/engine:1';
      const attrs = { name, push: 'true', 'prefer-image-digest': 'true' };
      const one = await build('engine', attrs, { type: 'moby' });
      expect((await inspect(one.get('containerimage.digest') ?? '')).RepoTags).toEqual([name]);
      await engine.http.ok('DELETE', `/images/${name}`);
      const options = { platform: 'linux/amd64,linux/arm64' };
      const lines = ['FROM scratch', 'COPY Dockerfile /'];
      const both = await build('engine', attrs, { type: 'moby', options, lines });
      expect(both.get('containerimage.digest')).not.toBe(one.get('containerimage.digest'));
      expect((await inspect(name)).RepoDigests).toEqual([
        `${name.replace(/:1$/, '')}@${both.get('containerimage.digest')}`,
      ]);
      await engine.http.ok('DELETE', `/images/${name}`);
      await engine.http.ok('POST', `/images/create?fromImage=${name}&platform=linux/arm64`);
      await engine.http.ok('DELETE', `/images/${name}`);
    });
  },
  { alsoNeeds: ['docker-registry'] },
);
