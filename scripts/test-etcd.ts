/**
 * Runs tests of a swarm with the etcd of Debian 13 (3.5), whatever this machine has: `tsx scripts/test-etcd.ts [file
 * ...]`. Its package is taken from the mirror that Debian 13's root of the tests has; the program needs nothing but a C
 * library.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { inTrixie } from '../test/support/trixie.ts';
import { repositoryRoot } from './lib/sources.ts';
import { binPath } from './lib/steps.ts';

/** The store's contract, its process and members, and what people do that etcd matters for. */
const FILES = [
  'test/contract/swarm/etcd-store.test.ts',
  'test/contract/swarm/etcd-process.test.ts',
  'test/contract/swarm/etcd-cluster.test.ts',
  'test/contract/swarm/etcd-peers.test.ts',
  'test/contract/swarm/membership.test.ts',
  'test/contract/swarm/quorum.test.ts',
  'test/clients/swarm/backup.test.ts',
  'test/clients/swarm/data-key.test.ts',
  'test/clients/swarm/locked.test.ts',
];

/** In a root of Debian 13; $1 is a folder that it shares with this machine. */
const FETCH = `cd "$1"; mkdir lists
apt="-qq -o Dir::State::Lists=$1/lists -o Dir::Cache=$1 -o APT::Sandbox::User=root"
apt-get $apt update
apt-get $apt download etcd-server
dpkg -x etcd-server_*.deb .`;

function main(asked: readonly string[]): number {
  const folder = mkdtempSync('/tmp/berth-test-etcd-program-');
  try {
    const [file, ...args] = inTrixie('sh', '-ec', FETCH, 'sh', folder);
    if (spawnSync(file, args, { stdio: 'inherit' }).status !== 0) {
      console.error('etcd-server of Debian 13 could not be had');
      return 1;
    }
    // Alone in its folder: it is searched before the machine's own programs.
    const etcd = path.join(folder, 'only/etcd');
    mkdirSync(path.dirname(etcd));
    symlinkSync(path.join(folder, 'usr/bin/etcd'), etcd);
    spawnSync(etcd, ['--version'], { stdio: 'inherit' });
    const files = asked.length > 0 ? asked : FILES;
    const { status } = spawnSync(
      'vitest',
      ['run', '--project', 'contract', '--project', 'clients', ...files],
      {
        cwd: repositoryRoot,
        env: { ...process.env, PATH: binPath(), BERTH_TEST_ETCD: etcd },
        stdio: 'inherit',
      },
    );
    return status ?? 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

process.exitCode = main(process.argv.slice(2));
