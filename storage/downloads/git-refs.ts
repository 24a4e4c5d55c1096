import { EngineError } from '../../daemon/base/errors.ts';
import { withGit, withoutUser, type GitOptions } from './git-command.ts';

/** What a remote has under a name. */
export interface FoundRef {
  commit: string;
  /** Its full name, `refs/...`; `HEAD` where the remote does not say what that is. */
  ref: string;
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** A whole id, in SHA-1 or SHA-256. Pure. */
export function isCommit(text: string): boolean {
  return COMMIT.test(text);
}

/**
 * Asks a remote for a branch, a tag or a full name; `''` = its HEAD. Nothing is fetched. `directory` is ours, for
 * files. Throws as `withGit`, and remote where it has no such ref.
 */
export async function findRef(
  { remote, ref }: { remote: string; ref: string },
  directory: string,
  options: GitOptions,
): Promise<FoundRef> {
  const patterns = ref === '' ? ['HEAD'] : [ref, `${ref}^{}`];
  const listed = await withGit(remote, { ...options, directory, cwd: directory }, (run) =>
    run('error fetching', 'ls-remote', '--symref', '--', remote, ...patterns),
  );
  const found = pickRef(listed, ref);
  if (found === undefined) {
    throw new EngineError(
      'remote',
      `error fetching ${withoutUser(remote)}: repository does not contain ref ${ref || 'HEAD'}`,
    );
  }
  return found;
}

/**
 * What of the lines of `git ls-remote --symref` is meant, by BuildKit's rules: a full name, then a branch, then a tag,
 * of which the commit counts (`^{}`). Undefined: nothing. Pure.
 */
export function pickRef(listed: string, ref: string): FoundRef | undefined {
  const lines = listed.split('\n').map((line) => line.split('\t', 2));
  const known = new Map(
    lines.flatMap(([commit = '', name]) => (name !== undefined && isCommit(commit) ? [[name, commit]] : [])),
  );
  const at = (name: string): FoundRef | undefined => {
    const commit = known.get(`${name}^{}`) ?? known.get(name);
    return commit === undefined ? undefined : { commit, ref: name };
  };
  if (ref === '' || ref === 'HEAD') {
    const head = at('HEAD');
    const [target] =
      lines.find(([text = '', name]) => name === 'HEAD' && text.startsWith('ref: refs/')) ?? [];
    return head && { ...head, ref: target?.slice('ref: '.length) ?? head.ref };
  }
  return at(named('refs/', ref)) ?? at(named('refs/heads/', ref)) ?? at(named('refs/tags/', ref));
}

function named(prefix: string, ref: string): string {
  return ref.startsWith(prefix) ? ref : `${prefix}${ref}`;
}
