import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../../daemon/base/clock.ts';
import { conflict, EngineError, errorText, failedPrecondition } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { isLocked } from '../../ca/keys/key-file.ts';
import { StoreError } from '../../store/errors.ts';
import { EtcdChannel } from '../../store/etcd/channel.ts';
import { EtcdMembers, type MemberStatus } from '../../store/etcd/members.ts';
import { saveMember } from '../../store/etcd-process/backup.ts';
import { SOCKET_NAME } from '../../store/etcd-process/settings.ts';
import { NodeFiles, type NodeFile } from '../files.ts';
import { during, sealFiles, syncDirectory, writeSynced } from './copying.ts';
import { FORMAT, MANIFEST_FILE, type Manifest } from './manifest.ts';

/** The node's files may change while the store is copied: a certificate is renewed, a root is new. */
const ATTEMPTS = 5;

export interface Saved {
  manifest: Manifest;
  /** Its keys are sealed with the unlock key. */
  isLocked: boolean;
  /** Other managers may know more than this one. */
  hasLeader: boolean;
}

interface Deps {
  clock: Clock;
  /** Of the node's files. */
  dataDirectory: string;
  /** Of its member of the store. */
  runDirectory: string;
  engine: string;
  hostname: string;
}

/**
 * Copies what this manager has of its swarm into the directory `target`, which must not exist: it is there only when it
 * is whole and on disk. The daemon may run or not; the member of the store has to. Throws conflict,
 * failed_precondition where there is nothing to back up, and unavailable where the store does not answer.
 */
export async function saveSwarm(deps: Deps, target: string): Promise<Saved> {
  return await during('back up the swarm', async () => {
    if (existsSync(target)) {
      throw conflict(`${target} is there already`);
    }
    const files = new NodeFiles(deps.dataDirectory);
    checkManager(await files.readNode());
    // Beside its place: it gets there by a rename.
    const staging = await mkdtemp(`${target}.incomplete-`);
    try {
      const saved = await fill(deps, files, staging);
      failpoint('swarm.backup.filled');
      await rename(staging, target);
      failpoint('swarm.backup.named');
      await syncDirectory(path.dirname(target));
      return saved;
    } catch (error) {
      await rm(staging, { recursive: true, force: true });
      throw error;
    }
  });
}

async function fill(deps: Deps, files: NodeFiles, staging: string): Promise<Saved> {
  const { node, keys, roots, status } = await copyAll(deps, files, staging);
  await writeSynced(path.join(staging, 'node.json'), JSON.stringify(node, undefined, 2));
  await writeSynced(path.join(staging, 'node.pem'), keys);
  await writeSynced(path.join(staging, 'ca.pem'), roots);
  failpoint('swarm.backup.copied');
  const manifest: Manifest = {
    format: FORMAT,
    made: new Date(Number(deps.clock.nowNano() / 1_000_000n)).toISOString(),
    engine: deps.engine,
    etcd: status.version,
    hostname: deps.hostname,
    node: node.node,
    cluster: node.cluster,
    files: await sealFiles(staging),
  };
  await writeSynced(path.join(staging, MANIFEST_FILE), `${JSON.stringify(manifest, undefined, 2)}\n`);
  await syncDirectory(staging);
  return { manifest, isLocked: isLocked(keys), hasLeader: status.leader !== '0' };
}

interface Copied {
  node: NodeFile;
  keys: string;
  roots: string;
  status: MemberStatus;
}

/** The store, between two equal looks at the node's files. */
async function copyAll({ clock, runDirectory }: Deps, files: NodeFiles, staging: string): Promise<Copied> {
  using channel = new EtcdChannel(path.join(runDirectory, SOCKET_NAME));
  const store = path.join(staging, 'etcd');
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = await readFiles(files);
    const status = await answered(before.keys, async () => {
      const found = await new EtcdMembers({ clock, channel }).status();
      if (found.learner) {
        throw failedPrecondition('this manager is still being taken into the store of the swarm');
      }
      await rm(store, { recursive: true, force: true });
      await saveMember(channel, files.storeDirectory, store);
      return found;
    });
    if (JSON.stringify(before) === JSON.stringify(await readFiles(files))) {
      return { ...before, status };
    }
  }
  throw new EngineError('unavailable', 'certificates of this node change all the time');
}

async function readFiles(files: NodeFiles): Promise<Omit<Copied, 'status'>> {
  const [node, keys, roots] = [await files.readNode(), await files.readKeys(), await files.readRoots()];
  checkManager(node);
  if (keys === undefined || roots === undefined) {
    throw failedPrecondition('this node has no certificate');
  }
  return { node, keys, roots };
}

async function answered<T>(keys: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreError)) {
      throw error;
    }
    const remedy = isLocked(keys) ? 'unlock the swarm (docker swarm unlock)' : 'start berthd';
    throw new EngineError(
      'unavailable',
      `the store of this manager does not answer: ${remedy} first (${errorText(error)})`,
      { cause: error },
    );
  }
}

function checkManager(node: NodeFile | undefined): asserts node is NodeFile {
  if (node === undefined || node.isVoid === true) {
    throw failedPrecondition('this node belongs to no swarm');
  }
  if (node.joining !== undefined || node.member?.isBegun === false) {
    throw failedPrecondition('this node is still joining its swarm');
  }
  if (node.member === undefined) {
    throw failedPrecondition('this node is a worker: back up a manager, which has the state of the swarm');
  }
}
