import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe, test } from 'vitest';
import { debianKubectl } from './cluster/debian-kubectl.ts';
import { hasTrixie } from './trixie.ts';

/** What a test may need of the machine it runs on. */
export type Requirement =
  | 'root'
  | 'linux'
  | 'runc'
  | 'conmon'
  | 'nft'
  | 'ip'
  | 'busybox'
  | 'overlay'
  | 'netns'
  | 'docker-cli'
  | 'docker-compose'
  | 'dockerd'
  | 'docker-registry'
  | 'skopeo'
  | 'podman'
  | 'gh'
  | 'kubectl'
  | 'kubectl-1.20'
  | 'debootstrap'
  | 'trixie'
  | 'python3-docker'
  | 'dockerode'
  | 'crun'
  | 'etcd'
  | 'etcdctl'
  | 'built'
  | 'guest';

const repositoryRoot = path.resolve(import.meta.dirname, '../..');

const probes = {
  root: () => process.getuid?.() === 0,
  linux: () => process.platform === 'linux',
  runc: () => onPath('runc'),
  conmon: () => onPath('conmon'),
  nft: () => onPath('nft'),
  ip: () => onPath('ip'),
  busybox: () => existsSync('/bin/busybox') || existsSync('/usr/bin/busybox'),
  overlay: () => succeeds(['grep', '-qw', 'overlay', '/proc/filesystems']),
  netns: () => succeeds(['unshare', '--net', 'true']),
  'docker-cli': () => onPath('docker'),
  'docker-compose': () => onPath('docker-compose'),
  dockerd: () => onPath('dockerd'),
  'docker-registry': () => onPath('docker-registry'),
  skopeo: () => onPath('skopeo'),
  podman: () => onPath('podman'),
  gh: () => onPath('gh'),
  kubectl: () => onPath('kubectl'),
  'kubectl-1.20': () => debianKubectl() !== undefined,
  debootstrap: () => onPath('debootstrap'),
  trixie: () => onPath('debootstrap') && hasTrixie(),
  'python3-docker': () => succeeds(['/usr/bin/python3', '-c', 'import docker']),
  crun: () => onPath('crun'),
  etcd: () => onPath('etcd'),
  etcdctl: () => onPath('etcdctl'),
  dockerode: () => resolves('dockerode'),
  // Made by scripts/vm, and only there.
  guest: () => existsSync('/etc/berth-vm'),
  built: () => existsSync(path.join(repositoryRoot, 'dist/daemon/main.js')),
} satisfies Record<Requirement, () => boolean>;

/** Those of `requirements` that this machine does not have. */
export function missing(...requirements: Requirement[]): Requirement[] {
  return requirements.filter((requirement) => !probes[requirement]());
}

/**
 * A `describe` that runs its body only where everything needed is there. Elsewhere it leaves one skipped test whose
 * reason `scripts/test` prints; a skip that is not in test/expected-skips.txt fails the run.
 *
 *   needs('root', 'runc')('create', () => { test('...', ...) });
 */
export function needs(...requirements: Requirement[]): (title: string, body: () => void) => void {
  const lacking = missing(...requirements);
  return (title, body) => {
    if (lacking.length === 0) {
      describe(title, body);
      return;
    }
    describe(title, () => {
      test('needs what this machine lacks', (context) => context.skip(`needs ${lacking.join(', ')}`));
    });
  };
}

/** As `needs`, with all that the built engine itself takes. */
export function needsEngine(...more: Requirement[]): ReturnType<typeof needs> {
  return needs('root', 'runc', 'conmon', 'nft', 'ip', 'busybox', 'built', ...more);
}

/** True where an executable of this name is on the PATH or in the system's sbin folders. */
export function onPath(name: string): boolean {
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin'];
  return folders.some((folder) => {
    try {
      accessSync(path.join(folder, name), constants.X_OK);
      return true;
    } catch {
      // Not here: the next folder may have it.
      return false;
    }
  });
}

function succeeds(argv: [string, ...string[]]): boolean {
  const [file, ...args] = argv;
  try {
    execFileSync(file, args, { stdio: 'ignore', timeout: 10_000 });
    return true;
  } catch {
    // Absent or failing means the same: the machine does not have it.
    return false;
  }
}

function resolves(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    // Not installed.
    return false;
  }
}
