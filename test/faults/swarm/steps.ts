import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { SystemInfo } from '../../../api/types/system.ts';
import { processes } from '../../support/engine/cleanup.ts';
import type { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { WAIT_MS } from '../../support/patience.ts';

/** Elections, and a member that waits until all others have been connected for 5 s. */
export const SETTLE_MS = 3 * WAIT_MS;

/** `active manager`, `locked`, ...; with what is wrong, if anything is. */
export async function partOf(daemon: TestDaemon): Promise<string> {
  const { Swarm } = await daemon.http.ok<SystemInfo>('GET', '/info');
  const { LocalNodeState, ControlAvailable, Error: trouble } = Swarm ?? {};
  const role = LocalNodeState === 'active' ? (ControlAvailable ? ' manager' : ' worker') : '';
  return `${LocalNodeState}${role}${trouble ? `: ${trouble}` : ''}`;
}

/** Resolves with what this node is to its swarm once it is one of these. */
export async function becomes(daemon: TestDaemon, ...wanted: readonly string[]): Promise<string> {
  let part = '';
  await until(
    `${daemon.name} to be ${wanted.join(' or ')}`,
    async () => {
      part = await partOf(daemon).catch(String);
      return wanted.includes(part);
    },
    SETTLE_MS,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; it is "${part}"\n${daemon.log().slice(-3000)}`, { cause: error });
  });
  return part;
}

/** The daemon dies at a failpoint (`name` or `name@nth`) which an action leads to, and starts again. */
export async function dieAt(
  daemon: TestDaemon,
  point: string,
  action: () => Promise<unknown>,
): Promise<void> {
  const [name, nth = '1'] = point.split('@');
  daemon.arm(`${name}=sigkill@${nth}`);
  // What a daemon that dies answers is no answer.
  const acted = action().catch(() => undefined);
  try {
    await daemon.ended(SETTLE_MS);
  } finally {
    daemon.arm('');
  }
  await daemon.up();
  await acted;
}

/** What a node that left its swarm has left on its host. */
export function leftovers(daemon: TestDaemon): string[] {
  const { dataRoot, execRoot } = daemon.paths;
  return [
    ...processes().flatMap(({ commandLine }) =>
      commandLine.includes('etcd') && commandLine.includes(`berth-test-${daemon.name}/`) ? [commandLine] : [],
    ),
    ...[dataRoot, execRoot].flatMap((root) => filesBelow(path.join(root, 'swarm'))),
  ];
}

/** Resolves once it has left nothing. */
export async function nothingLeft(daemon: TestDaemon): Promise<void> {
  await expect.poll(() => leftovers(daemon), { timeout: WAIT_MS }).toEqual([]);
}

function filesBelow(folder: string): string[] {
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map(({ parentPath, name }) => path.join(parentPath, name))
    : [];
}
