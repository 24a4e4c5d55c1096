import { mkdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { withoutUser } from '../../../storage/downloads/git-command.ts';
import { invariant } from '../../base/errors.ts';
import { GIT_KEY } from '../cache/checkouts.ts';
import {
  checkOut,
  findCommit,
  type CheckoutDeps,
  type FoundCommit,
  type KeysFor,
} from '../context/git-checkout.ts';
import type { GitSource } from '../graph/op.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import type { RunContext, SourceKey } from '../solver/ports.ts';
import { openAgentSocket, type AgentSocket } from './agent-socket.ts';
import { secretIfThere, sessionOf, type OpDeps } from './ports.ts';

/** The id of a client's key agent where none is named. */
const AGENT = 'default';
const SECRETS = { token: 'GIT_AUTH_TOKEN', header: 'GIT_AUTH_HEADER' };
const ROOT = { uid: 0, gid: 0 };

/** What checkouts are made with. */
export type GitDeps = Pick<OpDeps, 'sessions'> & CheckoutDeps;

/** What keys of checkouts were made of: the same is checked out. */
const known = new WeakMap<GitSource, FoundCommit>();

/** Known by the commit that it means now: every build asks, and clones only what is not there. */
export async function gitKey(deps: GitDeps, op: GitSource, context: RunContext): Promise<SourceKey> {
  const { signal } = context;
  const found = await findCommit(deps, op, { signal, keysFor: keysFor(deps, op, context) });
  known.set(op, found);
  context.used({ kind: 'git', remote: op.remote, ref: op.ref, commit: found.commit });
  return { key: checkoutKey(op, found), isLasting: true };
}

/**
 * Of all that a checkout is made of: who opens the repository, and by which name the commit was found, are nothing,
 * but for what a kept `.git` tells. Pure.
 */
export function checkoutKey(
  { remote, subdirectory, keepsGitDirectory, skipsSubmodules }: GitSource,
  { commit, ref }: FoundCommit,
): string {
  const git = keepsGitDirectory ? [ref ?? commit] : [];
  const skips = skipsSubmodules ? [{ skipsSubmodules }] : [];
  const facts = [withoutUser(remote), commit, posix.join('/', subdirectory), ...git, ...skips];
  return `${GIT_KEY}${JSON.stringify(facts)}`;
}

/** A checkout, opened with what the client has for it. */
export async function runGit(deps: GitDeps, op: GitSource, context: RunContext): Promise<BuildTree> {
  const { signal } = context;
  const found = known.get(op);
  invariant(found !== undefined, 'a checkout without a key');
  return await checkOut(deps, op, { signal, keysFor: keysFor(deps, op, context), found });
}

function keysFor(deps: GitDeps, op: GitSource, context: RunContext): KeysFor {
  return async (scratch) => {
    const agent = await agentFor(deps, op, { scratch, context });
    try {
      const authorization = await authorizationFor(deps, op, context);
      const end = async (): Promise<void> => await agent[Symbol.asyncDispose]();
      const { knownHosts } = op;
      return { agent: agent.path, authorization, knownHosts, [Symbol.asyncDispose]: end };
    } catch (error) {
      await agent[Symbol.asyncDispose]();
      throw error;
    }
  };
}

/** What the client has as a secret for repositories by HTTP; undefined = nothing. */
async function authorizationFor(
  { sessions }: GitDeps,
  { remote, secrets = SECRETS }: GitSource,
  context: RunContext,
): Promise<string | undefined> {
  if (!/^https?:/i.test(remote)) {
    return undefined;
  }
  const { signal } = context;
  const session = await sessionOf(sessions, context.sessions(), signal);
  const { host } = new URL(remote);
  const names = [secrets.header, secrets.token].filter((name) => name !== '');
  for (const id of names.flatMap((name) => [`${name}.${host}`, name])) {
    const secret = (await secretIfThere(session, id, signal))?.toString('utf8').trim() ?? '';
    if (secret !== '') {
      const isHeader = id.startsWith(secrets.header) && secrets.header !== '';
      return isHeader ? secret : `basic ${Buffer.from(`x-access-token:${secret}`).toString('base64')}`;
    }
  }
  return undefined;
}

/** Of the client, for repositories by ssh; keys of this host are its own. */
async function agentFor(
  { sessions }: GitDeps,
  { remote, agent: id = AGENT }: GitSource,
  { scratch, context }: { scratch: string; context: RunContext },
): Promise<Partial<AgentSocket> & AsyncDisposable> {
  const none = { [Symbol.asyncDispose]: () => Promise.resolve() };
  if (/^(?:https?|git):/i.test(remote)) {
    return none;
  }
  const { signal } = context;
  const session = await sessionOf(sessions, context.sessions(), signal);
  if (!(await session.hasAgent(id, signal))) {
    return none;
  }
  const directory = join(scratch, 'agent');
  await mkdir(directory, { mode: 0o700 });
  return await openAgentSocket(session, { id, directory, owner: ROOT, mode: 0o600, signal });
}
