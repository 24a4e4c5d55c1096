import type { HttpClient } from '../../test/support/engine/http.ts';
import { tar } from '../../test/support/images/tar.ts';
import { manyFiles, putFiles } from './archives.ts';
import { create } from './containers.ts';
import type { Workload } from './workload.ts';

const TAR = { 'Content-Type': 'application/x-tar' };
/** Ten steps as an application's Dockerfile has them: four commands, three copies, three settings. */
const DOCKERFILE = [
  'FROM busybox',
  'ENV APP=/app MODE=production',
  'WORKDIR /app',
  'COPY package.json .',
  'RUN mkdir -p deps && for i in 1 2 3 4 5 6 7 8 9; do echo $i >deps/$i; done',
  'COPY src src',
  'RUN cat src/* >bundle',
  'RUN echo app:x:1000:1000::/:/bin/sh >>/etc/passwd && echo app:x:1000: >>/etc/group',
  'COPY --chown=app:app static /srv/static',
  'CMD ["cat", "/app/bundle"]',
].join('\n');

const CONTEXT = tar([
  { name: 'Dockerfile', content: DOCKERFILE },
  { name: 'package.json', content: '{}' },
  { name: 'src/' },
  ...several('src', 40),
  { name: 'static/' },
  ...several('static', 40),
]);

export const buildWorkloads: readonly Workload[] = [
  {
    name: 'commit',
    what: 'commit of a container with 3,000 new files',
    unit: 'ms',
    target: 0.6,
    rounds: 5,
    prepare: async ({ http }) => {
      const id = await create(http, ['true'], { NetworkMode: 'none' });
      await putFiles(http, id, manyFiles());
      return { ids: [id] };
    },
    run: async ({ http }, { ids }) => {
      const { value, ms } = await timed(() =>
        http.ok<{ Id: string }>('POST', `/commit?container=${ids[0] ?? ''}`),
      );
      await http.ok('DELETE', `/images/${value.Id}`);
      return ms;
    },
  },
  {
    name: 'build',
    what: 'build of ten steps without cache',
    unit: 'ms',
    target: 0.35,
    rounds: 5,
    run: async ({ http }) => {
      const { ms } = await timed(() => build(http, 'nocache=1'));
      await http.ok('DELETE', '/images/bench-build?force=1');
      return ms;
    },
  },
  {
    name: 'build-cached',
    what: 'the same, all of it from the cache',
    unit: 'ms',
    target: 0.4,
    rounds: 15,
    prepare: async ({ http }) => {
      await build(http, '');
      return {
        ids: [],
        end: async () => {
          await http.ok('DELETE', '/images/bench-build?force=1');
        },
      };
    },
    run: async ({ http }) => (await timed(() => build(http, ''))).ms,
  },
];

async function build(http: HttpClient, query: string): Promise<void> {
  const options = { body: CONTEXT, headers: TAR };
  const { status, text } = await http.request('POST', `/build?t=bench-build&rm=1&${query}`, options);
  if (status !== 200 || !text.includes('Successfully tagged')) {
    throw new Error(`build: ${status} ${text.slice(-500)}`);
  }
}

function several(folder: string, count: number): { name: string; content: Buffer }[] {
  return Array.from({ length: count }, (_unused, index) => ({
    name: `${folder}/file${index}`,
    content: Buffer.alloc(1024 * (1 + (index % 8)), 'x'),
  }));
}

async function timed<T>(task: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const started = performance.now();
  const value = await task();
  return { value, ms: performance.now() - started };
}
