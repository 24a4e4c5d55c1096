import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { debootstrap, run } from '../../scripts/lib/debootstrap.ts';

/** What images of the demonstration are built from, as files on disk. Shared by all runs and never written to. */
export interface DebianParts {
  /** A tar of a Debian with python3 and its clients of redis and PostgreSQL. */
  base: string;
  /** Folders with packages (.deb) that the base does not have, and everything they depend on. */
  redis: string;
  postgres: string;
}

const CACHE = '/var/cache/berth-voting';
const IN_BASE = ['python3', 'python3-redis', 'python3-psycopg2'];
const PACKAGES = { redis: ['redis-server'], postgres: ['postgresql-15'] };
/** Counted up when the code below makes something else of the same lists. */
const RECIPE = 1;

/** Made by debootstrap from the machine's mirror when it is not there; that takes a minute or two. */
export function debianParts(): DebianParts {
  const key = createHash('sha256')
    .update(JSON.stringify([RECIPE, IN_BASE, PACKAGES]))
    .digest('hex');
  const folder = path.join(CACHE, key.slice(0, 16));
  if (!existsSync(folder)) {
    make(folder);
  }
  const inside = (name: string): string => path.join(folder, name);
  return { base: inside('base.tar'), redis: inside('redis'), postgres: inside('postgres') };
}

function make(folder: string): void {
  mkdirSync(CACHE, { recursive: true });
  const draft = path.join(CACHE, `draft-${process.pid}`);
  const root = path.join(draft, 'root');
  try {
    mkdirSync(draft);
    debootstrap(root, IN_BASE);
    run('chroot', root, 'apt-get', 'clean');
    const lists = ['./var/lib/apt/lists/*', './var/cache/apt/*.bin'].map((pattern) => `--exclude=${pattern}`);
    run(
      'tar',
      '--create',
      `--file=${draft}/base.tar`,
      `--directory=${root}`,
      '--numeric-owner',
      ...lists,
      '.',
    );
    for (const [name, packages] of Object.entries(PACKAGES)) {
      download(root, packages, path.join(draft, name));
    }
    rmSync(root, { recursive: true });
    // A run beside this one may have been faster.
    if (!existsSync(folder)) {
      renameSync(draft, folder);
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Packages and what they depend on, as files. */
function download(root: string, packages: readonly string[], target: string): void {
  const apt = ['apt-get', '-q', '-y', '--no-install-recommends', '--download-only', 'install'];
  run('chroot', root, 'env', 'DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C', ...apt, ...packages);
  const archives = path.join(root, 'var/cache/apt/archives');
  mkdirSync(target);
  for (const name of readdirSync(archives).filter((file) => file.endsWith('.deb'))) {
    cpSync(path.join(archives, name), path.join(target, name));
    rmSync(path.join(archives, name));
  }
}
