import { EngineError, invalidArgument } from '../../../base/errors.ts';
import {
  SANDBOX_HOSTNAME,
  type AskedDevice,
  type ExecMount,
  type ExecOp,
  type Vertex,
} from '../../graph/op.ts';
import type { Heredoc } from '../../../base/dockerfile/instruction.ts';
import { heredocWord } from '../../../base/dockerfile/heredoc.ts';
import { formatPlatform } from '../../../../storage/image/platform.ts';
import type { RunCommand } from '../instructions/command.ts';
import { isDeviceAllowed, readDevice } from '../instructions/device.ts';
import { readMount, type Mount } from '../instructions/mount.ts';
import { document } from '../sources/document.ts';
import { inShell } from './config-steps.ts';
import { addHistory, expanded, type StepContext } from './context.ts';
import { Mounts } from './run-mounts.ts';
import { numbered, shownText } from './step-name.ts';

/** Where a here-document that is a program of its own lies while it runs. */
const DOCUMENTS = '/dev/pipes/';

/** RUN: a command on the tree so far. */
export function runStep(context: StepContext, command: RunCommand): void {
  const { build, stage, state, step } = context;
  const { options } = build;
  if (state.platform.os !== 'linux') {
    throw invalidArgument(`RUN: commands of ${formatPlatform(state.platform)} cannot be run on this host`);
  }
  const mounts = command.mounts.map((text) => readMount(text, (value) => expanded(context, value)));
  const { argv, script, summary } = commandLine(context, command);
  const made = new Mounts(context);
  if (script !== undefined) {
    made.bind(script, { source: '/', target: DOCUMENTS, isWritable: false });
  }
  mounts.forEach((mount) => made.add(mount));
  const { network, isPrivileged } = allowed(context, command);
  const devices = command.devices.map((text) => askedDevice(context, expanded(context, text)));
  const op: ExecOp = {
    kind: 'exec',
    argv,
    env: [...withAgent(state.env, made.mounts)].map(([name, value]) => `${name}=${value}`),
    quietEnv: proxies(options.args),
    directory: state.image.config.WorkingDir || '/',
    user: state.image.config.User ?? '',
    network,
    isPrivileged,
    hostname: options.hostname || SANDBOX_HOSTNAME,
    extraHosts: options.extraHosts,
    ...(options.shmBytes !== undefined && { shmBytes: options.shmBytes }),
    ulimits: options.ulimits,
    cgroupParent: options.cgroupParent,
    mounts: made.mounts,
    ...(devices.length > 0 && { devices }),
  };
  const name = shownText(`${step.instruction.text}${summary}`, {
    variables: masked(state.env, mounts),
    escape: build.escape,
    keepsQuotes: true,
    keepsUnset: true,
  });
  const place = { platform: state.platform, env: state.env, isTrigger: step.isTrigger };
  state.tree = {
    op,
    inputs: [state.tree, ...made.inputs],
    name: numbered(build, stage, place, name),
    lines: step.lines,
    ...(stage.isFresh && { isFresh: true }),
  };
  addHistory(context, `RUN ${[...usedArgs(context), ...argv].join(' ')} # buildkit`, true);
}

/** What runs: a shell with a text, a program of a JSON array, or a here-document. */
function commandLine(
  context: StepContext,
  { words, isJson }: RunCommand,
): { argv: string[]; script?: Vertex; summary: string } {
  if (isJson) {
    if (words.length === 0) {
      throw invalidArgument('failed to marshal LLB definition: arguments are required');
    }
    return { argv: [...words], summary: '' };
  }
  const { heredocs } = context.step.instruction;
  const [text = ''] = words;
  const [first] = heredocs;
  if (first === undefined) {
    return { argv: inShell(context, text), summary: '' };
  }
  if (heredocs.length > 1 || heredocWord(text) === undefined) {
    // The shell reads them itself.
    const whole = [text, ...heredocs.map(({ written, name }) => `${written}${name}`)].join('\n');
    return { argv: inShell(context, whole), summary: '' };
  }
  const summary = ` (${summarized(first)})`;
  return first.content.startsWith('#!')
    ? { argv: [`${DOCUMENTS}${first.name}`], script: document(first, 0o755), summary }
    : { argv: inShell(context, first.content), summary };
}

function summarized({ written }: Heredoc): string {
  const [first = '', ...others] = written.trim().split(/\r?\n/);
  return others.length > 0 ? `${first}...` : first;
}

/** Throws `forbidden` where the client has not allowed what the step needs. */
function allowed({ build }: StepContext, command: RunCommand): Pick<ExecOp, 'network' | 'isPrivileged'> {
  const { entitlements, network: given } = build.options;
  const network = command.network === 'default' ? given : command.network;
  const refuse = (flag: string, name: string): void => {
    if (!entitlements.has(name)) {
      throw new EngineError(
        'forbidden',
        `RUN ${flag} is not allowed: the build lacks the entitlement ${name}`,
      );
    }
  };
  if (network === 'host') {
    refuse('--network=host', 'network.host');
  }
  if (command.isPrivileged) {
    refuse('--security=insecure', 'security.insecure');
  }
  return { network, isPrivileged: command.isPrivileged };
}

function askedDevice({ build }: StepContext, text: string): AskedDevice {
  const asked = readDevice(text);
  return { ...asked, isAllowed: isDeviceAllowed(asked.name, build.options.entitlements) };
}

/** A client's key agent is found by this variable. */
function withAgent(env: ReadonlyMap<string, string>, mounts: readonly ExecMount[]): Map<string, string> {
  const agent = mounts.find((mount) => mount.type === 'ssh');
  const all = new Map(env);
  if (agent !== undefined && !all.has('SSH_AUTH_SOCK')) {
    all.set('SSH_AUTH_SOCK', agent.target);
  }
  return all;
}

/** Of the host, told by the client, in both spellings: a command may look for either. */
function proxies(args: ReadonlyMap<string, string>): string[] {
  return ['http_proxy', 'https_proxy', 'ftp_proxy', 'no_proxy', 'all_proxy'].flatMap((name) => {
    const given = [...args].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const value = given.findLast(([key]) => key.toLowerCase() === name)?.[1];
    return value === undefined ? [] : [`${name.toUpperCase()}=${value}`, `${name}=${value}`];
  });
}

/** `|2 A=1 B=2`: what the command was told beside the environment of the image. */
function usedArgs({ state }: StepContext): string[] {
  const all = new Map(state.args.map(({ name, value }) => [name, state.env.get(name) ?? value ?? '']));
  return all.size === 0 ? [] : [`|${all.size}`, ...[...all].map((pair) => pair.join('='))];
}

/** A variable that holds a secret is shown as one. */
function masked(env: ReadonlyMap<string, string>, mounts: readonly Mount[]): Map<string, string> {
  const secret = mounts.flatMap(({ type, env: name = '' }) =>
    type === 'secret' && name !== '' ? [name] : [],
  );
  return new Map([...env, ...secret.map((name) => [name, '****'] as const)]);
}
