/**
 * `npm run build`: compiles the engine into dist/, with everything beside the sources that is read at run time. The
 * new tree is made next to the old one and swapped in, so that a daemon starting meanwhile sees one or the other.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryFiles, repositoryRoot } from './lib/sources.ts';
import { binPath } from './lib/steps.ts';

const FOLDERS = ['daemon', 'runtime', 'storage', 'api', 'swarm'];
const EXECUTABLES = ['daemon/main.js'];

function main(): number {
  const target = path.join(repositoryRoot, 'dist');
  const fresh = `${target}.new-${process.pid}`;
  const old = `${target}.old-${process.pid}`;
  try {
    try {
      execFileSync('tsc', ['-p', 'tsconfig.build.json', '--outDir', fresh], {
        cwd: repositoryRoot,
        env: { ...process.env, PATH: binPath() },
        stdio: 'inherit',
      });
    } catch {
      // The compiler has said what is wrong.
      return 1;
    }
    copyAssets(fresh);
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

/** Migrations, profiles and the like: whatever git knows beside the sources that is neither code nor prose. */
function copyAssets(target: string): void {
  for (const file of repositoryFiles(...FOLDERS).filter((name) => !/\.(ts|md)$/.test(name))) {
    mkdirSync(path.join(target, path.dirname(file)), { recursive: true });
    cpSync(path.join(repositoryRoot, file), path.join(target, file));
  }
}

/** What GET /version tells: the commit this tree is of (empty outside of git), and when it was built. */
function writeBuildStamp(target: string): void {
  let commit = '';
  try {
    commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: repositoryRoot,
      encoding: 'utf8',
    }).trim();
  } catch {
    // A tarball of the sources: there is no commit to tell.
  }
  const stamp = { commit, time: new Date().toISOString() };
  writeFileSync(path.join(target, 'daemon/boot/build-stamp.json'), `${JSON.stringify(stamp)}\n`);
}

process.exitCode = main();
