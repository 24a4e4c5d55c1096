/**
 * `npm run build`: checks the engine's types and bundles it into dist/. The
 * new tree is made next to the old one and swapped in, so that a daemon starting meanwhile sees one or the other.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundle } from './lib/bundle.ts';
import { repositoryRoot } from './lib/sources.ts';
import { binPath } from './lib/steps.ts';

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
    await bundle({ main: 'daemon/main.ts' }, path.join(fresh, 'daemon'));
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
