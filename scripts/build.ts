/**
 * `npm run build`: checks the engine's types and bundles it into dist/. The
 * new tree is made next to the old one and swapped in, so that a daemon starting meanwhile sees one or the other.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { repositoryRoot } from './lib/sources.ts';
import { binPath } from './lib/steps.ts';

const ENTRIES = {
  main: 'daemon/main.ts',
  'layer-worker': 'storage/layers/workers/layer-worker.ts',
  'delivery-worker': 'daemon/hub/deliveries/thread/delivery-worker.ts',
};
/** Native, or loaded on a terminal only. */
const NOT_BUNDLED = ['better-sqlite3', 'koffi', 'pino-pretty'];
const EXECUTABLES = ['daemon/main.js'];

async function main(): Promise<number> {
  const target = path.join(repositoryRoot, 'dist');
  const fresh = `${target}.new-${process.pid}`;
  const old = `${target}.old-${process.pid}`;
  try {
    try {
      execFileSync('tsc', ['-p', 'tsconfig.build.json', '--noEmit'], {
        cwd: repositoryRoot,
        env: { ...process.env, PATH: binPath() },
        stdio: 'inherit',
      });
    } catch {
      // The compiler has said what is wrong.
      return 1;
    }
    await bundle(fresh);
    writeBuildStamp(fresh);
    for (const file of EXECUTABLES) {
      chmodSync(path.join(fresh, file), 0o755);
    }
    if (existsSync(target)) {
      renameSync(target, old);
    }
    renameSync(fresh, target);
    return 0;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

/**
 * A few files instead of a thousand, with the pure JavaScript among the dependencies: half of a daemon's start was
 * finding and opening modules. All lie in one folder, so that what a module finds beside itself by import.meta.url,
 * a worker or the build stamp, is beside the bundle too. Names and lines stay readable: nothing is minified.
 */
async function bundle(target: string): Promise<void> {
  const build = await rolldown({
    cwd: repositoryRoot,
    input: ENTRIES,
    platform: 'node',
    transform: { target: 'node20' },
    external: NOT_BUNDLED,
    logLevel: 'silent',
  });
  await build.write({
    dir: path.join(target, 'daemon'),
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  await build.close();
}

/** What GET /version tells: the commit this tree is of (empty outside of git), and when it was built. */
function writeBuildStamp(target: string): void {
  let commit = '';
  try {
    commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: repositoryRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    // A tarball of the sources: there is no commit to tell.
  }
  const stamp = { commit, time: new Date().toISOString() };
  writeFileSync(path.join(target, 'daemon/build-stamp.json'), `${JSON.stringify(stamp)}\n`);
}

process.exitCode = await main();
