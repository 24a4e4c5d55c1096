import { execFileSync } from 'node:child_process';
import { beforeEach, expect, test } from 'vitest';
import { useBuildBed } from '../../support/buildkit/build-bed.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { ACCOUNT } from '../../support/registry/registry.ts';

const DOCKERFILE = ['FROM busybox', 'RUN echo pushed >/pushed && true', ''];
const REPOSITORY = '127.0.0.1:5000/app';
const RIGHT = { username: ACCOUNT.username, secret: ACCOUNT.password };

function descriptorIn(told: ReadonlyMap<string, string>): { digest: string; mediaType: string } {
  const text = Buffer.from(told.get('containerimage.descriptor') ?? '', 'base64').toString();
  return JSON.parse(text) as { digest: string; mediaType: string };
}

describeEngine(
  'built images that are pushed',
  (engine) => {
    const bed = useBuildBed(() => engine.daemon, { registry: { password: true } });
    beforeEach(() => {
      bed().server.account = RIGHT;
      bed().write(DOCKERFILE);
    });

    const build = async (attrs: Record<string, string>): Promise<ReadonlyMap<string, string>> =>
      await bed().build([{ type: 'image', attrs }]);
    /** What the registry has under a name comes back as the image that was built. */
    const comesBack = async (name: string, id: string | undefined): Promise<void> => {
      const auth = Buffer.from(JSON.stringify({ ...ACCOUNT })).toString('base64');
      const { status, text } = await engine.http.request('POST', `/images/create?fromImage=${name}`, {
        headers: { 'X-Registry-Auth': auth },
      });
      expect({ status, errors: text.match(/"error"/g) }).toEqual({ status: 200, errors: null });
      const { Id } = await engine.http.ok<{ Id: string }>('GET', `/images/${name}/json`);
      expect(Id).toBe(id);
    };

    /** What a name stands for in the registry, as another client reads it. */
    const raw = (name: string): unknown => {
      const { username, password } = ACCOUNT;
      const credentials = ['--creds', `${username}:${password}`, '--tls-verify=false'];
      const argv = ['skopeo', 'inspect', '--raw', ...credentials, `docker://${name}`];
      const [file, ...args] = engine.daemon.netns.enter(...argv);
      return JSON.parse(execFileSync(file, args).toString());
    };

    test('under its names, with the credentials of the client; the image knows its digest', async () => {
      const told = await build({ name: `${REPOSITORY}:1,${REPOSITORY}:2`, push: 'true' });
      const id = told.get('containerimage.config.digest');
      const digest = told.get('containerimage.digest') ?? '';
      const { RepoDigests } = await engine.http.ok<{ RepoDigests: string[] }>(
        'GET',
        `/images/${REPOSITORY}:1/json`,
      );
      expect(RepoDigests).toEqual([`${REPOSITORY}@${digest}`]);
      await engine.http.ok('DELETE', `/images/${id}?force=1`);
      await comesBack(`${REPOSITORY}:2`, id);
      await engine.http.ok('DELETE', `/images/${id}?force=1`);
    });

    test('by its digest, without a name', async () => {
      const told = await build({ name: REPOSITORY, push: 'true', 'push-by-digest': 'true' });
      const id = told.get('containerimage.config.digest');
      await engine.http.ok('DELETE', `/images/${id}?force=1`);
      await comesBack(`${REPOSITORY}@${told.get('containerimage.digest')}`, id);
      await engine.http.ok('DELETE', `/images/${id}?force=1`);
      await expect(
        build({ name: `${REPOSITORY}:1`, push: 'true', 'push-by-digest': 'true' }),
      ).rejects.toThrow(`can't push tagged ref ${REPOSITORY}:1 by digest`);
    });

    test('with zstd, annotations and no image here; the registry has what comes back the same', async () => {
      const attrs = { name: `${REPOSITORY}:zstd`, push: 'true', store: 'false', compression: 'zstd' };
      const told = await build({ ...attrs, 'compression-level': '1', 'annotation.a': 'b' });
      const id = told.get('containerimage.config.digest') ?? '';
      expect((await engine.http.request('GET', `/images/${id}/json`)).status).toBe(404);
      const { digest, mediaType } = descriptorIn(told);
      expect({ digest, mediaType }).toEqual({
        digest: told.get('containerimage.digest'),
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
      });
      const manifest = raw(`${REPOSITORY}:zstd`) as { annotations: object; layers: { mediaType: string }[] };
      expect(manifest.annotations).toEqual({ a: 'b' });
      expect(new Set(manifest.layers.map((layer) => layer.mediaType))).toEqual(
        new Set(['application/vnd.oci.image.layer.v1.tar+zstd']),
      );
      await comesBack(`${REPOSITORY}:zstd`, id);
      await engine.http.ok('DELETE', `/images/${id}?force=1`);
    });

    test('several platforms: an index of them, here as well', async () => {
      bed().write(['FROM scratch', 'ARG TARGETARCH', 'LABEL for=$TARGETARCH', 'COPY Dockerfile /']);
      const platform = 'linux/arm64,linux/amd64';
      const told = await bed().build(
        [{ type: 'image', attrs: { name: `${REPOSITORY}:both`, push: 'true', 'annotation-index.a': 'b' } }],
        { platform },
      );
      expect(told.get('image.name')).toBe(`${REPOSITORY}:both`);
      const index = raw(`${REPOSITORY}:both`) as {
        mediaType: string;
        annotations: object;
        manifests: { platform: object }[];
      };
      expect(index.mediaType).toBe('application/vnd.oci.image.index.v1+json');
      expect(index.annotations).toEqual({ a: 'b' });
      expect(descriptorIn(told).digest).toBe(told.get('containerimage.digest'));
      expect(index.manifests.map((each) => each.platform)).toEqual([
        { os: 'linux', architecture: 'arm64' },
        { os: 'linux', architecture: 'amd64' },
      ]);
      const { RepoDigests } = await engine.http.ok<{ RepoDigests: string[] }>(
        'GET',
        `/images/${REPOSITORY}:both/json`,
      );
      expect(RepoDigests).toEqual([`${REPOSITORY}@${told.get('containerimage.digest')}`]);
      await engine.http.ok('DELETE', `/images/${REPOSITORY}:both`);
      for (const architecture of ['arm64', 'amd64']) {
        const auth = Buffer.from(JSON.stringify({ ...ACCOUNT })).toString('base64');
        const path = `/images/create?fromImage=${REPOSITORY}:both&platform=linux/${architecture}`;
        await engine.http.request('POST', path, { headers: { 'X-Registry-Auth': auth } });
        const image = await engine.http.ok<{ Architecture: string; Config: { Labels: object } }>(
          'GET',
          `/images/${REPOSITORY}:both/json`,
        );
        expect(image).toMatchObject({
          Architecture: architecture,
          Config: { Labels: { for: architecture } },
        });
        await engine.http.ok('DELETE', `/images/${REPOSITORY}:both?force=1`);
      }
    });

    test('a registry that refuses fails the build; the image stays', async () => {
      bed().server.account = { username: 'nobody', secret: 'wrong' };
      await expect(build({ name: `${REPOSITORY}:3`, push: 'true' })).rejects.toThrow(
        'unauthorized: authentication required',
      );
      await engine.http.ok('DELETE', `/images/${REPOSITORY}:3`);
    });
  },
  { alsoNeeds: ['skopeo'] },
);
