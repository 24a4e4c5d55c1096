import type { NewBuildProcess } from '../../../api/types/build/containers.ts';
import { notFound } from '../../base/errors.ts';
import { secretIfThere, sessionOf, type OpDeps } from '../ops/ports.ts';
import type { RunContext } from '../solver/ports.ts';

/** `NAME=value` of secrets of the client; one that is not there is empty. Throws not_found where it must be. */
export async function secretVariables(
  { sessions }: Pick<OpDeps, 'sessions'>,
  secrets: NewBuildProcess['secrets'],
  context: Pick<RunContext, 'sessions' | 'signal'>,
): Promise<string[]> {
  const variables: string[] = [];
  for (const { id, name, isOptional } of secrets) {
    const session = await sessionOf(sessions, context.sessions(), context.signal);
    const data = await secretIfThere(session, id, context.signal);
    if (data === undefined && !isOptional) {
      throw notFound(`secret ${id}: not found`);
    }
    variables.push(`${name}=${data?.toString('utf8') ?? ''}`);
  }
  return variables;
}
