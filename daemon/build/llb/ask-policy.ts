import type { Asking } from '../control/ask-image.ts';
import { AskedPolicy } from '../policy/asked-policy.ts';
import { asTheyAre } from '../policy/named-source.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import type { Solver } from '../solver/solver.ts';
import { askSource } from './ask-source.ts';

/** The policy of a client's session: it answers for each source, and may ask what is known of that. */
export function policyOf(
  deps: Omit<Asking, 'session' | 'signal'> & { solver: Solver<BuildTree> },
  session: string,
): AskedPolicy {
  const { sessions, running } = deps;
  return new AskedPolicy({
    check: async (question, signal) =>
      await (await sessions.get(session, signal)).checkSource(question, signal),
    known: async (question) => {
      const { signal } = running;
      const own = await sessions.get(running.session, signal);
      return await askSource({ ...deps, session: own, signal }, question, asTheyAre);
    },
  });
}
