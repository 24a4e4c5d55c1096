import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../../daemon/base/clock.ts';
import { conflict, errnoOf, invalidArgument } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { isLocked } from '../../ca/keys/key-file.ts';
import { EtcdProcess } from '../../store/etcd-process/etcd-process.ts';
import type { HostInterface } from '../addresses.ts';
import { alone } from '../alone.ts';
import { NodeFiles, type NodeFile } from '../files.ts';
import { placedHere } from '../moving.ts';
import { copyChecked, during, syncDirectory, writeSynced } from './copying.ts';
import { MANIFEST_FILE, parseManifest, type Manifest } from './manifest.ts';

interface Deps {
  clock: Clock;
  /** The program of the store. */
  etcd: string;
  interfaces: () => readonly HostInterface[];
  /** Of the node's files; made. */
  dataDirectory: string;
  /** Of its member of the store. */
  runDirectory: string;
  /** On the same file system, emptied by each start of the daemon. */
  staging: string;
}

interface Options {
  /** Another swarm that the node belongs to is put aside. */
  force: boolean;
  /** As of `docker swarm init`; '' for the address that the backup's manager had. */
  advertiseAddr: string;
}

export interface Restored {
  manifest: Manifest;
  isLocked: boolean;
  /** Where the files are that were there before; undefined where there were none. */
  putAside: string | undefined;
}

/**
 * Makes this node the manager that a backup was taken of, as the only one. The caller holds the data root: no daemon
 * runs. Everything is checked and on disk before a rename puts it in place; a crash before that leaves the node in no
 * swarm, or in the one that it was in. Throws invalid_argument for a backup that is not whole, conflict for a node that
 * belongs to a swarm.
 */
export async function restoreSwarm(deps: Deps, source: string, options: Options): Promise<Restored> {
  return await during('restore the swarm', async () => {
    const manifest = parseManifest(await readManifest(source));
    const files = new NodeFiles(deps.dataDirectory);
    const isUsed = await belongsToSwarm(files);
    if (isUsed && !options.force) {
      throw conflict(
        'this node belongs to a swarm: leave it first (docker swarm leave --force), or put it aside with --force',
      );
    }
    await rm(deps.staging, { recursive: true, force: true });
    try {
      const locked = await stage(deps, { source, manifest }, options.advertiseAddr);
      failpoint('swarm.restore.staged');
      await endMember(deps);
      const putAside = await place(deps, isUsed);
      return { manifest, isLocked: locked, putAside };
    } catch (error) {
      await rm(deps.staging, { recursive: true, force: true });
      throw error;
    }
  });
}

/** Answers whether its keys are sealed. */
async function stage(
  { staging, interfaces }: Deps,
  { source, manifest }: { source: string; manifest: Manifest },
  advertiseAddr: string,
): Promise<boolean> {
  await mkdir(staging, { recursive: true, mode: 0o700 });
  for (const file of manifest.files) {
    await copyChecked(source, staging, file);
  }
  const files = new NodeFiles(staging);
  const stored = await files.readNode();
  if (stored?.member === undefined) {
    throw invalidArgument('node.json is not that of a manager');
  }
  const here = placedHere(stored, { interfaces: interfaces(), advertiseAddr });
  await rm(path.join(staging, 'node.json'));
  const node = alone(here, here.member ?? stored.member);
  await writeSynced(path.join(staging, 'node.json'), JSON.stringify(node, undefined, 2));
  for (const directory of ['etcd/member/snap', 'etcd/member/wal', 'etcd/member', 'etcd', '']) {
    await syncDirectory(path.join(staging, directory));
  }
  return isLocked((await files.readKeys()) ?? '');
}

/** One that outlived its daemon has the data of another swarm open. */
async function endMember({ clock, etcd, runDirectory }: Deps): Promise<void> {
  const running = await EtcdProcess.adopt({ clock, etcd, runDirectory });
  await running?.stop();
  await rm(runDirectory, { recursive: true, force: true });
}

/** Answers where the files of the other swarm are now. */
async function place({ staging, dataDirectory, clock }: Deps, isUsed: boolean): Promise<string | undefined> {
  const root = path.dirname(dataDirectory);
  if (!isUsed) {
    // Leftovers at most.
    await rm(dataDirectory, { recursive: true, force: true });
    await rename(staging, dataDirectory);
    await syncDirectory(root);
    failpoint('swarm.restore.placed');
    return undefined;
  }
  const stamp = new Date(Number(clock.nowNano() / 1_000_000n)).toISOString().replaceAll(/[:.]/g, '-');
  const aside = `${dataDirectory}.before-${stamp}`;
  await rename(dataDirectory, aside);
  try {
    failpoint('swarm.restore.put-aside');
    await rename(staging, dataDirectory);
  } catch (error) {
    await rename(aside, dataDirectory);
    throw error;
  }
  await syncDirectory(root);
  failpoint('swarm.restore.placed');
  // Tasks that run here go on where the restored swarm knows them; the agent ends the others.
  await moveIfThere(path.join(aside, 'agent'), path.join(dataDirectory, 'agent'));
  return aside;
}

async function moveIfThere(from: string, to: string): Promise<void> {
  if (existsSync(from)) {
    await rename(from, to);
  }
}

async function belongsToSwarm(files: NodeFiles): Promise<boolean> {
  let file: NodeFile | undefined;
  try {
    file = await files.readNode();
  } catch (error) {
    if (error instanceof SyntaxError) {
      // Torn by hand: it is put aside as well.
      return true;
    }
    throw error;
  }
  return file !== undefined && file.isVoid !== true;
}

async function readManifest(source: string): Promise<string> {
  try {
    return await readFile(path.join(source, MANIFEST_FILE), 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') {
      throw invalidArgument(`${source} is no backup of a swarm: it has no ${MANIFEST_FILE}`);
    }
    throw error;
  }
}
