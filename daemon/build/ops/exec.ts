import { posix } from 'node:path';
import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Logger } from '../../base/logger.ts';
import type { ExecOp } from '../graph/op.ts';
import type { StepContainer } from '../graph/step-container.ts';
import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import type { RunContext } from '../solver/ports.ts';
import { treeOf } from '../cache/records.ts';
import { devicesOf } from './exec-devices.ts';
import { FailedExec, isCommandError } from './failed-exec.ts';
import type { LeftCommand } from '../ports.ts';
import { prepareMounts, type ExecMounts } from './exec-mounts.ts';
import type { OpDeps } from './ports.ts';

/**
 * A command in a tree: what it changed is the layer, with results of mounts. Throws with its exit code where it failed.
 */
export async function runExec(
  deps: OpDeps & { log: Logger },
  op: ExecOp,
  {
    inputs,
    context,
    container,
  }: {
    inputs: readonly (BuildTree | undefined)[];
    context: RunContext;
    container: StepContainer | undefined;
  },
): Promise<BuildTree> {
  const { signal } = context;
  const devices = devicesOf(deps, op, (text) => context.log(2, Buffer.from(text)));
  await using mounts = await prepareMounts(deps, op, { inputs, context });
  signal.throwIfAborted();
  failpoint('build.ops.exec');
  let left: LeftCommand | undefined;
  const command = deps.layers.run({
    layerIds: layersOfTree(inputs[0]),
    body: bodyOf(op, { ...mounts, devices }),
    command: op.argv,
    files: mounts.files,
    variables: mounts.env,
    mountPoints: mounts.mountPoints,
    output: (stream, bytes) => context.log(stream === 2 ? 2 : 1, bytes),
    signal,
    ...(op.validExitCodes && { validExitCodes: op.validExitCodes }),
    ...(container && { container }),
    ...(container === undefined && context.isLookedInto?.() && { left: (it) => (left = it) }),
  });
  const made = await command.catch((error: unknown) => {
    throw left !== undefined && isCommandError(error) ? new FailedExec(error, { op, inputs, left }) : error;
  });
  const tree = treeOf(made);
  try {
    for (const { number, made: result } of mounts.results) {
      tree.results.set(number, treeOf(await result(signal)));
    }
    return tree;
  } catch (error) {
    tree[Symbol.dispose]();
    throw error;
  }
}

/** What is asked of the container of a command. */
export function bodyOf(
  op: ExecOp,
  { devices, ...mounts }: Pick<ExecMounts, 'env' | 'tmpfs'> & { devices: readonly string[] },
): ContainerCreateRequest {
  // A secret takes the place of a variable of its name.
  const secrets = new Set(mounts.env.map((pair) => nameOf(pair)));
  return {
    Cmd: [...op.argv],
    Entrypoint: [''],
    Env: [...op.env, ...op.quietEnv].filter((pair) => !secrets.has(nameOf(pair))),
    WorkingDir: op.directory,
    User: op.user,
    ...(op.hostname !== '' && { Hostname: op.hostname }),
    Healthcheck: { Test: ['NONE'] },
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      NetworkMode: op.network,
      ExtraHosts: op.extraHosts.map(({ name, address }) => `${name}:${address}`),
      ...(op.shmBytes !== undefined && { ShmSize: op.shmBytes }),
      Ulimits: op.ulimits.map(({ name, soft, hard }) => ({ Name: name, Soft: soft, Hard: hard })),
      ...(op.isPrivileged && { Privileged: true }),
      ...(op.cgroupParent !== '' && { CgroupParent: cgroupParentOf(op.cgroupParent) }),
      Tmpfs: mounts.tmpfs,
      ...(devices.length > 0 && { DeviceRequests: [{ Driver: 'cdi', DeviceIDs: [...devices] }] }),
      ...(op.isRootReadonly && { ReadonlyRootfs: true }),
    },
  };
}

/** Where BuildKit has its commands: below a cgroup of its name; a slice of systemd is taken as it is. */
function cgroupParentOf(parent: string): string {
  return /^[^/]+\.slice$/.test(parent) ? parent : posix.join('/', parent, 'buildkit');
}

function nameOf(pair: string): string {
  return pair.split('=', 1)[0] ?? '';
}
