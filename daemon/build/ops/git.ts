import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkOut } from '../context/git-checkout.ts';
import type { GitSource } from '../graph/op.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import type { RunContext, SourceKey } from '../solver/ports.ts';
import { openAgentSocket, type AgentSocket } from './agent-socket.ts';
import { secretIfThere, sessionOf, type OpDeps } from './ports.ts';

/** The id of a client's key agent where none is named. */
const AGENT = 'default';
const SECRETS = { token: 'GIT_AUTH_TOKEN', header: 'GIT_AUTH_HEADER' };
const ROOT = { uid: 0, gid: 0 };

/** A branch may have moved: every build looks, and what is read of the checkout counts. */
export function gitKey(): SourceKey {
  return { key: `git ${randomUUID()}`, isLasting: false };
}

/** A checkout, opened with what the client has for it. */
export async function runGit(deps: OpDeps, op: GitSource, context: RunContext): Promise<BuildTree> {
  return await checkOut(deps, op, {
    signal: context.signal,
    checkedOut: (commit) => context.used({ kind: 'git', remote: op.remote, ref: op.ref, commit }),
    keysFor: async (scratch) => {
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
    },
  });
}

/** What the client has as a secret for repositories by HTTP; undefined = nothing. */
async function authorizationFor(
  { sessions }: OpDeps,
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
  { sessions }: OpDeps,
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
