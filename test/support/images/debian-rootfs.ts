import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { debootstrap, run } from '../../../scripts/lib/debootstrap.ts';

/** A Debian root file system in layers, as tars on disk. The files are shared by all runs and never written to. */
export interface DebianRootfs {
  /** Bottom first; the first is a whole system by itself. */
  layers: string[];
  /** Packages (.deb) that the first layer does not have, and everything they depend on. */
  packages: string[];
}

const CACHE = '/var/cache/berth-rootfs';
/** What each layer above the first installs: interpreters with many small files, programs, large libraries. */
const LAYERS = [
  ['perl', 'python3', 'iputils-ping'],
  ['git', 'openssh-client', 'vim-tiny'],
  ['gcc', 'libc6-dev', 'make'],
];
/** Installed in the first layer by tests, without a network. */
const PACKAGES = ['jq', 'acl'];
/** Counted up when the code below makes something else of the same lists. */
const RECIPE = 2;
/** Other recipes' files are removed when they are as old as this. */
const KEPT_MS = 24 * 3_600_000;
/** What apt can fetch again. */
const LEFT_OUT = ['./var/lib/apt/lists/*', './var/cache/apt/*.bin', './var/cache/apt/archives/*.deb'];

/** Made by debootstrap from the machine's mirror when it is not there; that takes a minute or two. */
export function debianRootfs(): DebianRootfs {
  const key = createHash('sha256')
    .update(JSON.stringify([RECIPE, LAYERS, PACKAGES]))
    .digest('hex');
  const folder = path.join(CACHE, key.slice(0, 16));
  if (!existsSync(folder)) {
    make(folder);
    removeOthers(folder);
  }
  const inside = (sub: string): string[] =>
    readdirSync(path.join(folder, sub))
      .toSorted()
      .map((name) => path.join(folder, sub, name));
  return { layers: inside('layers'), packages: inside('packages') };
}

function make(folder: string): void {
  mkdirSync(CACHE, { recursive: true });
  const draft = path.join(CACHE, `draft-${process.pid}`);
  try {
    for (const sub of ['layers', 'packages']) {
      mkdirSync(path.join(draft, sub), { recursive: true });
    }
    const root = path.join(draft, 'root');
    debootstrap(root);
    run('chroot', root, 'apt-get', 'clean');
    const layer = (index: number): string => path.join(draft, 'layers', `${index}.tar`);
    pack(root, layer(0), ['.']);
    download(root, path.join(draft, 'packages'));
    for (const [index, packages] of LAYERS.entries()) {
      const stamp = path.join(draft, 'stamp');
      writeFileSync(stamp, '');
      install(root, ...packages);
      pack(root, layer(index + 1), changedSince(root, stamp));
    }
    rmSync(path.join(draft, 'stamp'));
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
function download(root: string, target: string): void {
  install(root, '--download-only', ...PACKAGES);
  const archives = path.join(root, 'var/cache/apt/archives');
  for (const name of readdirSync(archives).filter((file) => file.endsWith('.deb'))) {
    cpSync(path.join(archives, name), path.join(target, name));
    rmSync(path.join(archives, name));
  }
}

function install(root: string, ...args: string[]): void {
  const environment = ['env', 'DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C'];
  run('chroot', root, ...environment, 'apt-get', '-q', '-y', '--no-install-recommends', 'install', ...args);
}

/** What was made, written or moved: what a layer of it holds. Directories come with the files that changed them. */
function changedSince(root: string, stamp: string): string[] {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  const found = execFileSync('find', ['.', '-xdev', '-cnewer', stamp, '-print0'], options);
  return found.split('\0').filter((name) => name !== '');
}

/** Owners by number, times to the nanosecond, extended attributes: what a layer is to bring back. */
function pack(root: string, file: string, names: readonly string[]): void {
  const list = `${file}.list`;
  writeFileSync(list, names.join('\0'));
  const isWhole = names.length === 1;
  run(
    'tar',
    '--create',
    `--file=${file}`,
    `--directory=${root}`,
    '--format=posix',
    '--numeric-owner',
    '--sort=name',
    '--xattrs',
    '--xattrs-include=*',
    ...LEFT_OUT.map((pattern) => `--exclude=${pattern}`),
    ...(isWhole ? [] : ['--no-recursion']),
    '--null',
    `--files-from=${list}`,
  );
  rmSync(list);
}

function removeOthers(folder: string): void {
  for (const name of readdirSync(CACHE).filter((other) => /^[0-9a-f]{16}$/.test(other))) {
    const other = path.join(CACHE, name);
    if (other !== folder && Date.now() - statSync(other).mtimeMs > KEPT_MS) {
      rmSync(other, { recursive: true });
    }
  }
}
