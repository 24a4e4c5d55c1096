import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ImageInspect } from '../../../api/types/image.ts';
import { useBuildBed } from '../../support/buildkit/build-bed.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { differences } from '../../support/engine/oracle.ts';
import { needs } from '../../support/needs.ts';

const LINES = ['FROM scratch', 'ARG TARGETARCH', 'COPY <<END /for', '$TARGETARCH', 'END'];
const ARM64 = encodeURIComponent('{"os":"linux","architecture":"arm64"}');
const BOTH = ['image arm64', 'attestation', 'image amd64', 'attestation'];

needs(
  'root',
  'built',
  'netns',
)('several images under one name', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await TestDaemon.start({ armable: true });
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  const bed = useBuildBed(() => daemon);
  const build = async (): Promise<unknown> => {
    bed().write(LINES);
    const options = { platform: 'linux/arm64,linux/amd64', 'attest:provenance': 'mode=min' };
    return await bed().build([{ type: 'moby', attrs: { name: 'two:1' } }], options);
  };
  /** Of the name; undefined = there is none. */
  const shown = async (): Promise<string[] | undefined> => {
    const { json, status } = await daemon.http.request('GET', '/images/two:1/json?manifests=1');
    const { Manifests = [] } = json as ImageInspect;
    return status === 404
      ? undefined
      : Manifests.map(({ Kind, Descriptor }) =>
          Kind === 'image' ? `image ${Descriptor.platform?.architecture}` : Kind,
        );
  };
  const leave = async (): Promise<void> => {
    await daemon.http.request('DELETE', '/images/two:1');
    await daemon.http.ok('POST', '/images/prune');
    expect(await daemon.http.ok('GET', '/images/json?all=1')).toEqual([]);
    await expect.poll(() => differences(daemon), { timeout: 30_000 }).toEqual([]);
  };
  const up = async (): Promise<void> => {
    await daemon.ended();
    daemon.arm('');
    await daemon.up();
  };

  const MAKING = ['images.list.commit', 'database.manifest-list.insert', 'images.list.name'];
  it.each(MAKING)('R1: kill -9 at %s: there is no name, and the next build makes it', async (point) => {
    daemon.arm(`${point}=sigkill`);
    await expect(build()).rejects.toThrow();
    await up();
    expect(await shown()).toBeUndefined();
    await build();
    expect(await shown()).toEqual(BOTH);
    await leave();
  });

  it.each(MAKING)('%s fails: the build says so, and the next one does not', async (point) => {
    daemon.arm(`${point}=error(told by a test)`);
    await expect(build()).rejects.toThrow('told by a test');
    daemon.arm('');
    expect(await shown()).toBeUndefined();
    await build();
    expect(await shown()).toEqual(BOTH);
    await leave();
  });

  const LEAVING = ['images.list.replace', 'database.manifest-list.remove'];
  it.each(LEAVING)('%s, killed or failed: both platforms are there, and one goes then', async (point) => {
    await build();
    const path = `/images/two:1?platforms=${ARM64}`;
    daemon.arm(`${point}=error(told by a test)`);
    expect((await daemon.http.request('DELETE', path)).status).toBe(500);
    expect(await shown()).toEqual(BOTH);
    daemon.arm(`${point}=sigkill`);
    await expect(daemon.http.request('DELETE', path)).rejects.toThrow();
    await up();
    expect(await shown()).toEqual(BOTH);
    await daemon.http.ok('DELETE', path);
    expect(await shown()).toEqual(BOTH.slice(2));
    await leave();
  });
});
