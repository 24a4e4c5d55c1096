import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import type { ExecCreateRequest } from '../../../api/types/exec.ts';
import type { ExecOp } from '../graph/op.ts';
import { bodyOf } from '../ops/exec.ts';
import type { ExecMounts } from '../ops/exec-mounts.ts';
import type { AskedContainer } from './asked-container.ts';
import type { AskedProcess } from './asked-process.ts';

/** What is asked of a container for its first process: as of a command, with its input. Pure. */
export function firstBody(
  asked: AskedContainer,
  process: AskedProcess,
  mounts: Pick<ExecMounts, 'env' | 'tmpfs'>,
): ContainerCreateRequest {
  const op: ExecOp = {
    kind: 'exec',
    argv: process.argv,
    env: process.env,
    quietEnv: [],
    directory: process.directory,
    user: process.user,
    network: asked.network,
    isPrivileged: process.isPrivileged,
    hostname: asked.hostname,
    extraHosts: asked.extraHosts,
    ulimits: [],
    cgroupParent: '',
    mounts: asked.mounts,
    ...(asked.isRootReadonly && { isRootReadonly: true }),
  };
  const body = bodyOf(op, { ...mounts, devices: [] });
  return {
    ...body,
    Tty: process.isTerminal,
    AttachStdin: process.hasInput,
    OpenStdin: process.hasInput,
    // The end of a client's input is no end of a terminal.
    StdinOnce: process.hasInput && !process.isTerminal,
    // What it says goes to its client, and nowhere else.
    HostConfig: { ...body.HostConfig, LogConfig: { Type: 'none', Config: {} } },
  };
}

/** A further process, which has nothing of the first one's variables. Pure. */
export function execRequest(
  process: AskedProcess,
  {
    first,
    mounts,
    variables,
  }: { first: AskedProcess; mounts: readonly string[]; variables: readonly string[] },
): ExecCreateRequest {
  const own = [...process.env, ...variables];
  const names = new Set(own.map(nameOf));
  const theirs = [...first.env.map(nameOf), ...first.secrets.map(({ name }) => name), ...mounts.map(nameOf)];
  const taken = [...new Set(theirs)].filter((name) => !names.has(name));
  return {
    AttachStdin: process.hasInput,
    AttachStdout: true,
    AttachStderr: true,
    Tty: process.isTerminal,
    Cmd: [...process.argv],
    // A name alone takes the variable away.
    Env: [...taken, ...own],
    User: process.user || '0:0',
    WorkingDir: process.directory,
  };
}

function nameOf(pair: string): string {
  return pair.split('=', 1)[0] ?? '';
}
