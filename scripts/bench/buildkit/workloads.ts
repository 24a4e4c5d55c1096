import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { TestDaemon } from '../../../test/support/engine/daemon.ts';
import { inTrixie } from '../../../test/support/trixie.ts';
import type { Workload } from '../workload.ts';
import { Relay } from './relay.ts';
import type { Shares } from './share.ts';

const run = promisify(execFile);
const NAME = 'bench-buildkit';
const FILES = 5000;
const FILES_PER_DIRECTORY = 50;
const FILE_BYTES = 4096;

const STEPS = ['FROM busybox', ...numbers(10).map((number) => `RUN echo ${number} >/step${number}`)];
const STAGES = [
  ...numbers(8).flatMap((number) => [
    `FROM busybox AS stage${number}`,
    `RUN mkdir /out && echo ${number} >/out/stage${number}`,
  ]),
  'FROM busybox',
  ...numbers(8).map((number) => `COPY --from=stage${number} /out/ /stages/`),
];
const CACHED = [
  'FROM busybox AS made',
  'WORKDIR /app',
  'COPY package.json .',
  'RUN mkdir deps && echo 1 >deps/1',
  'COPY src src',
  'RUN cat src/*/* >bundle',
  'FROM busybox',
  'ENV MODE=production',
  'COPY --from=made /app/bundle /srv/bundle',
  'RUN echo app:x:1000:1000::/:/bin/sh >>/etc/passwd',
  'CMD ["cat", "/srv/bundle"]',
];
const CONTEXT = ['FROM busybox', 'COPY . /src'];

/** What measures one engine. */
interface Bed extends AsyncDisposable {
  build(context: string, more?: readonly string[]): Promise<Shares>;
  /** A folder of its own for a context, with this Dockerfile. */
  context(dockerfile: readonly string[]): string;
}

export const buildkitWorkloads: readonly Workload[] = [
  workload({
    name: 'buildkit-ten-steps',
    what: 'buildx beside dockerd 26.1: ten RUN steps without cache',
    target: 0.4,
    rounds: 5,
    prepare: (bed) => bed.context(STEPS),
    measure: async (bed, context) => (await bed.build(context, ['--no-cache'])).solveMs,
  }),
  workload({
    name: 'buildkit-cached',
    what: "buildx beside dockerd 26.1: all from the cache, the engine's share",
    target: 0.5,
    rounds: 11,
    prepare: async (bed) => {
      const context = bed.context(CACHED);
      writeFileSync(path.join(context, 'package.json'), '{}');
      fill(path.join(context, 'src'), 40);
      await bed.build(context);
      return context;
    },
    measure: async (bed, context) => (await bed.build(context)).engineMs,
  }),
  workload({
    name: 'buildkit-context',
    what: `buildx beside dockerd 26.1: COPY of a new context of ${FILES} files`,
    target: 0.6,
    rounds: 5,
    prepare: () => '',
    measure: async (bed) => {
      const context = bed.context(CONTEXT);
      fill(path.join(context, 'tree'), FILES);
      try {
        return (await bed.build(context)).solveMs;
      } finally {
        rmSync(context, { recursive: true });
      }
    },
  }),
  workload({
    name: 'buildkit-stages',
    what: 'buildx beside dockerd 26.1: eight independent stages without cache',
    target: 0.5,
    rounds: 5,
    prepare: (bed) => bed.context(STAGES),
    measure: async (bed, context) => (await bed.build(context, ['--no-cache'])).solveMs,
  }),
];

function workload({
  prepare,
  measure,
  ...facts
}: Pick<Workload, 'name' | 'what' | 'target' | 'rounds'> & {
  prepare: (bed: Bed) => string | Promise<string>;
  measure: (bed: Bed, context: string) => Promise<number>;
}): Workload {
  let own = notPrepared;
  let other = notPrepared;
  const place = async (bed: Bed): Promise<() => Promise<number>> => {
    const context = await prepare(bed);
    return () => measure(bed, context);
  };
  return {
    ...facts,
    unit: 'ms',
    // The engine in dockerd's place is another one than that of the other rows.
    engine: 'berthd',
    prepare: async (daemon) => {
      const made: AsyncDisposable[] = [];
      const end = async (): Promise<void> => {
        for (const one of made.toReversed()) {
          await one[Symbol.asyncDispose]();
        }
      };
      try {
        const reference = await TestDaemon.start({ engine: 'dockerd26' });
        made.push(reference);
        await reference.loadBusybox();
        const beds = [await bedOf(daemon), await bedOf(reference)] as const;
        made.push(...beds);
        [own, other] = [await place(beds[0]), await place(beds[1])];
        return { ids: [], end };
      } catch (error) {
        await end();
        throw error;
      }
    },
    run: () => own(),
    reference: () => other(),
  };
}

let contexts = 0;
let fillings = 0;

function notPrepared(): Promise<number> {
  return Promise.reject(new Error('not prepared'));
}

async function bedOf({ http, paths }: TestDaemon): Promise<Bed> {
  const relay = await Relay.start(path.join(paths.root, 'relay.sock'), paths.socket);
  return {
    build: async (context, more = []) => {
      const [file, ...args] = inTrixie(
        'docker',
        'buildx',
        'build',
        '--progress=plain',
        '--tag',
        NAME,
        ...more,
      );
      const env = {
        PATH: process.env['PATH'] ?? '',
        HOME: paths.root,
        DOCKER_HOST: `unix://${relay.path}`,
      };
      relay.take();
      await run(file, [...args, context], { env, timeout: 120_000, maxBuffer: 1 << 26 });
      return relay.take();
    },
    context: (dockerfile) => {
      contexts += 1;
      const folder = path.join(paths.root, `context${contexts}`);
      mkdirSync(folder);
      writeFileSync(path.join(folder, 'Dockerfile'), dockerfile.join('\n'));
      return folder;
    },
    [Symbol.asyncDispose]: async () => {
      await http.request('DELETE', `/images/${NAME}?force=1`);
      await http.ok('POST', '/build/prune?all=1');
      await relay[Symbol.asyncDispose]();
    },
  };
}

/** Files that no build has met. */
function fill(folder: string, count: number): void {
  fillings += 1;
  for (let index = 0; index < count; index += 1) {
    const directory = path.join(folder, String(Math.floor(index / FILES_PER_DIRECTORY)));
    if (index % FILES_PER_DIRECTORY === 0) {
      mkdirSync(directory, { recursive: true });
    }
    const content = `${fillings} ${index}\n`.repeat(FILE_BYTES).slice(0, FILE_BYTES);
    writeFileSync(path.join(directory, `file${index}`), content);
  }
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
