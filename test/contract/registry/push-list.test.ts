import { afterAll, beforeAll, expect, it } from 'vitest';
import { withResolvers } from '../../../daemon/base/concurrency/with-resolvers.ts';
import { FaultProxy } from '../../support/registry/fault-proxy.ts';
import { until } from '../../support/engine/http.ts';
import { collect, ImagesRig } from '../../support/images/images-rig.ts';
import { tar, type TarEntry } from '../../support/images/tar.ts';
import { needs } from '../../support/needs.ts';
import { sha256 } from '../../support/registry/registry-content.ts';
import { TestRegistry } from '../../support/registry/registry.ts';

const OCI = 'application/vnd.oci.image';
const MANIFEST = `${OCI}.manifest.v1+json`;

/** A layout with a list of one image, of which something is said. */
function listTar(name: string): Buffer {
  const members: TarEntry[] = [];
  const blob = (mediaType: string, content: object): object => {
    const bytes = JSON.stringify(content);
    members.push({ name: `blobs/sha256/${sha256(bytes).slice('sha256:'.length)}`, content: bytes });
    return { mediaType, digest: sha256(bytes), size: bytes.length };
  };
  const platform = { os: 'linux', architecture: 'amd64' };
  const config = blob(`${OCI}.config.v1+json`, { ...platform, rootfs: { type: 'layers', diff_ids: [] } });
  const document = { schemaVersion: 2, mediaType: MANIFEST };
  const image = blob(MANIFEST, { ...document, config, layers: [] });
  const statement = blob('application/vnd.in-toto+json', { predicateType: 'p', predicate: { a: 1 } });
  const annotations = {
    'vnd.docker.reference.digest': Reflect.get(image, 'digest') as string,
    'vnd.docker.reference.type': 'attestation-manifest',
  };
  const unknown = { os: 'unknown', architecture: 'unknown' };
  const said = { ...blob(MANIFEST, { ...document, config, layers: [statement] }), annotations };
  const index = blob(`${OCI}.index.v1+json`, {
    schemaVersion: 2,
    mediaType: `${OCI}.index.v1+json`,
    manifests: [
      { ...image, platform },
      { ...said, platform: unknown },
    ],
  });
  const roots = { manifests: [{ ...index, annotations: { 'io.containerd.image.name': name } }] };
  return tar([...members, { name: 'index.json', content: JSON.stringify(roots) }]);
}

needs('docker-registry')('push of a list', () => {
  let registry: TestRegistry;
  let proxy: FaultProxy;
  let rig: ImagesRig;

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

  it('one that is removed meanwhile arrives with all that is said of its images', async () => {
    const name = `${proxy.address}/said`;
    await rig.load(listTar(`${name}:1`));
    const { signal } = new AbortController();
    const push = async (): Promise<unknown> =>
      (await collect(rig.images.push(name, { tag: '1', auth: {}, signal }))).at(-1)?.aux;
    const whole = await push();
    proxy.reset();
    const { promise: held, resolve: release } = withResolvers<void>();
    proxy.plan = ({ method }) => (method === 'PUT' ? { kind: 'hold', until: held } : undefined);
    const again = push();
    await until('a manifest is sent', () => proxy.seen.some(({ method }) => method === 'PUT'));
    await rig.images.remove(`${name}:1`, { force: true, noprune: false });
    release();
    expect(await again).toEqual(whole);
  });
});
