import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { debootstrap } from '../../scripts/lib/debootstrap.ts';

const CACHE = '/var/cache/berth-trixie';
/** Clients of today, and the next Docker daemon: their Go programs do not run on the C library of Debian 12. */
const PACKAGES = [
  'ca-certificates',
  'docker-buildx',
  'docker-cli',
  'docker-compose',
  'docker.io',
  'skopeo',
  'podman',
];
/** Other lists' roots are removed when they are as old as this. */
const KEPT_MS = 24 * 3_600_000;
/** What a program sees of this machine, at the same path: kernel, devices, and what tests make. */
const SHARED = ['proc', 'sys', 'dev', 'tmp'];
/** A mount of its own makes it a root for programs that change the mounts' propagation. */
const ENTER = `root=$1; shift
mount --bind "$root" "$root"
for folder in ${SHARED.join(' ')}; do mount --rbind "/$folder" "$root/$folder"; done
exec chroot "$root" "$@"`;

/** A root of Debian 13 with these programs, made from the machine's mirror when it is not there: a minute or two. */
export function trixieRoot(): string {
  const key = createHash('sha256').update(JSON.stringify(PACKAGES)).digest('hex').slice(0, 16);
  const folder = path.join(CACHE, key);
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true });
    const draft = path.join(CACHE, `draft-${process.pid}`);
    try {
      debootstrap(draft, PACKAGES, 'trixie');
      // A run beside this one may have been faster.
      if (!existsSync(folder)) {
        renameSync(draft, folder);
      }
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
    removeOthers(folder);
  }
  return folder;
}

/** True where that root is, or could be made. */
export function hasTrixie(): boolean {
  try {
    trixieRoot();
    return true;
  } catch (error) {
    // No mirror with Debian 13: its tests are skipped, and this is why.
    console.error(String(error));
    return false;
  }
}

/**
 * `argv` as a command line that runs in that root, in a mount namespace that ends with it. /tmp is this machine's: the
 * sockets and folders of test daemons are where they are outside.
 */
export function inTrixie(...argv: string[]): [string, ...string[]] {
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-ec', ENTER, 'sh', trixieRoot(), ...argv];
}

function removeOthers(folder: string): void {
  for (const name of readdirSync(CACHE).filter((other) => /^[0-9a-f]{16}$/.test(other))) {
    const other = path.join(CACHE, name);
    if (other !== folder && Date.now() - statSync(other).mtimeMs > KEPT_MS) {
      rmSync(other, { recursive: true });
    }
  }
}
