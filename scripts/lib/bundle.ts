import path from 'node:path';
import { rolldown } from 'rolldown';
import { repositoryRoot } from './sources.ts';

/** Programs of threads, which the engine finds beside itself. */
export const WORKERS: Readonly<Record<string, string>> = {
  'layer-worker': 'storage/layers/workers/layer-worker.ts',
  'delivery-worker': 'daemon/hub/deliveries/thread/delivery-worker.ts',
  'note-worker': 'daemon/hub/notes/reader/note-worker.ts',
};
/** Native, or loaded on a terminal only. */
const NOT_BUNDLED = ['better-sqlite3', 'koffi', 'pino-pretty'];

/**
 * Writes `<name>.js` for each program into a folder below the repository: a few files instead of a thousand, with the
 * pure JavaScript among the dependencies, as half of a program's start was finding and opening modules. All lie in one
 * folder, so that what a module finds beside itself by import.meta.url, a worker or the build stamp, is beside the
 * bundle too. Names and lines stay readable: nothing is minified.
 */
export async function bundle(programs: Readonly<Record<string, string>>, folder: string): Promise<void> {
  const build = await rolldown({
    cwd: repositoryRoot,
    input: { ...programs, ...WORKERS },
    platform: 'node',
    transform: { target: 'node20' },
    external: NOT_BUNDLED,
    logLevel: 'silent',
  });
  await build.write({
    dir: path.resolve(repositoryRoot, folder),
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  await build.close();
}
