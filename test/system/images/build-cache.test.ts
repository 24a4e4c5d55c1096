import { afterEach, expect, test } from 'vitest';
import type { ContainerConfig } from '../../../api/types/container.ts';
import { readBuilt } from '../../support/images/built.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { tar, type TarEntry } from '../../support/images/tar.ts';

const CACHED = / ---> Using cache\n/g;

/** Images that are to be the cache of a request. */
function from(...names: string[]): string {
  return `cachefrom=${encodeURIComponent(JSON.stringify(names))}`;
}

describeEngine('build cache', (engine) => {
  const build = async (
    lines: readonly string[],
    files: readonly TarEntry[] = [],
    query = '',
  ): Promise<{ text: string; id: string; cached: number }> => {
    const answer = await engine.http.request('POST', `/build?${query}`, {
      body: tar([{ name: 'Dockerfile', content: lines.join('\n') }, ...files]),
      headers: { 'Content-Type': 'application/x-tar' },
    });
    const { error, text, id } = readBuilt(answer);
    expect(error).toBe('');
    return { text, id, cached: text.match(CACHED)?.length ?? 0 };
  };
  /** Takes an image away with all that was built for it, and brings it back as another engine would. */
  const sendAway = async (name: string): Promise<void> => {
    const { bytes } = await engine.http.request('GET', `/images/${name}/get`);
    await forget();
    await engine.http.ok('POST', '/images/load?quiet=1', bytes);
  };
  const forget = async (): Promise<void> => {
    await engine.removeAll();
    await engine.removeImages();
    await engine.http.ok('POST', '/build/prune');
  };
  afterEach(forget);

  const LINES = [
    'FROM busybox',
    'ENV A=1',
    'COPY f /f',
    'ARG B=2',
    'RUN cat /f /proc/uptime >/made; echo $B >>/made',
    'WORKDIR /w',
    'CMD ["sh"]',
  ];
  const FILES = [{ name: 'f', content: 'f' }];

  test('cachefrom: an image from elsewhere serves a build that names it, and no other', async () => {
    const first = await build(LINES, FILES, 't=made');
    await sendAway('made');
    const again = await build(LINES, FILES, from('nothing:here', 'made'));
    expect({ id: again.id, cached: again.cached }).toEqual({ id: first.id, cached: 6 });
    await engine.http.ok('DELETE', '/images/made?noprune=1');
    if (!onReference) {
      // What was taken for that build is not what was built here.
      expect((await build(LINES, FILES)).id).not.toBe(first.id);
    }
  });

  test('cachefrom: as far as the steps are the same', async () => {
    await build(LINES, FILES, 't=made');
    await sendAway('made');
    const changed = [...LINES.slice(0, 5), 'WORKDIR /other', 'RUN cmp /made /made && ls -d /other'];
    const { text, cached } = await build(changed, FILES, from('made'));
    expect(cached).toBe(4);
    expect(text).toContain('/other\n');
    expect((await build(LINES, [{ name: 'f', content: 'else' }], from('made'))).cached).toBe(1);
    expect((await build(['FROM busybox', 'ENV A=2', ...LINES.slice(2)], FILES, from('made'))).cached).toBe(0);
  });

  test('cachefrom: what was built here counts when the named image was made by it', async () => {
    const first = await build(LINES, FILES, 't=made');
    expect((await build(LINES, FILES, from('made'))).id).toBe(first.id);
    const { cached } = await build(LINES, FILES, from('busybox'));
    expect(cached).toBe(0);
  });

  test.skipIf(onReference)(
    'class 21: an image whose history claims steps is no cache unless named',
    async () => {
      const { id } = await build(['FROM busybox', 'RUN echo honest >/proof', 'CMD ["x"]'], [], 't=made');
      const { Config } = await engine.http.ok<{ Config: ContainerConfig }>('GET', `/images/${id}/json`);
      await forget();
      // The same history as that of an honest image, with other content and another configuration.
      const history = [
        { created: '2024-01-01T00:00:00Z', created_by: '/bin/sh -c echo honest >/proof' },
        { created: '2024-01-01T00:00:00Z', created_by: '/bin/sh -c #(nop)  CMD ["x"]', empty_layer: true },
      ];
      const evil = busyboxImageTar({
        tags: ['evil:1'],
        config: { ...Config, User: 'nobody', Entrypoint: ['/evil'] },
        extraLayers: [[{ name: 'proof', content: 'evil\n' }]],
        history,
      });
      await engine.http.ok('POST', '/images/load?quiet=1', evil);
      const lines = ['FROM busybox', 'RUN echo honest >/proof', 'CMD ["x"]'];
      expect((await build(lines)).cached).toBe(0);
      // Who names it trusts its files; how containers run is still what the Dockerfile says.
      const named = await build(lines, [], `nocache=0&${from('evil:1')}`);
      const inspected = await engine.http.ok<{ Config: ContainerConfig }>('GET', `/images/${named.id}/json`);
      expect(inspected.Config).toEqual(Config);
      expect((await build(['FROM busybox', 'RUN echo honest >/proof', 'RUN cat /proof'])).text).toContain(
        'honest\n',
      );
    },
  );

  const inner = tar([{ name: 'inside', content: 'x' }]);
  test.each<[string, string[], string[], TarEntry[], TarEntry[]]>([
    ['another mode', ['COPY f /f'], ['COPY f /f'], [{ name: 'f' }], [{ name: 'f', mode: 0o600 }]],
    [
      'another mode of a directory below',
      ['COPY d /d'],
      ['COPY d /d'],
      [{ name: 'd/' }, { name: 'd/e/' }],
      [{ name: 'd/' }, { name: 'd/e/', mode: 0o700 }],
    ],
    ['another owner', ['COPY f /f'], ['COPY --chown=1:1 f /f'], [{ name: 'f' }], [{ name: 'f' }]],
    ['another name', ['COPY a /d/'], ['COPY b /d/'], [{ name: 'a' }], [{ name: 'b' }]],
    ['another place', ['COPY f /a'], ['COPY f /b'], [{ name: 'f' }], [{ name: 'f' }]],
    [
      'ADD in place of COPY',
      ['COPY f /f'],
      ['ADD f /f'],
      [{ name: 'f', content: inner }],
      [{ name: 'f', content: inner }],
    ],
    [
      'a link in place of a file',
      ['COPY d /d'],
      ['COPY d /d'],
      [
        { name: 'd/a', content: 'x' },
        { name: 'd/b', content: 'x' },
      ],
      [
        { name: 'd/a', content: 'x' },
        { name: 'd/b', type: '2', linkName: 'a' },
      ],
    ],
    ['other words of one text', ['RUN ["echo", "a b"]'], ['RUN ["echo", "a", "b"]'], [], []],
    ['a variable that is an argument', ['ARG A=1', 'RUN echo $A'], ['ARG A=2', 'RUN echo $A'], [], []],
    ['another user before', ['USER 1', 'RUN id'], ['USER 2', 'RUN id'], [], []],
    ['another shell before', ['SHELL ["sh", "-c"]', 'RUN id'], ['SHELL ["sh", "-ec"]', 'RUN id'], [], []],
    ['another health check', ['HEALTHCHECK CMD true'], ['HEALTHCHECK --retries=3 CMD true'], [], []],
  ])('class 21: the cache tells %s apart', async (_what, one, two, filesOne, filesTwo) => {
    const first = await build(['FROM busybox', ...one], filesOne);
    const second = await build(['FROM busybox', ...two], filesTwo);
    if (onReference && one.some((line) => line.startsWith('RUN ["echo"'))) {
      // dockerd compares joined texts only for cachefrom.
      expect(second.id).not.toBe(first.id);
      return;
    }
    expect(second.id).not.toBe(first.id);
  });
});
