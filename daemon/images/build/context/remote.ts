import { invalidArgument } from '../../../base/errors.ts';

/** Where a build's context comes from when the client does not send it. */
export type Remote =
  /** A Dockerfile, or the tar of a context. */
  { kind: 'url'; url: URL } | GitRemote;

export interface GitRemote {
  kind: 'git';
  /** As git takes it, without fragment. */
  remote: string;
  /** Branch, tag or commit; `HEAD` when none was given: what the server has as its default. */
  ref: string;
  /** Below the repository's root; `''` = all of it. */
  directory: string;
}

const HTTP = /^https?:\/\//i;
const GIT_PATH = /\.git(?:#.+)?$/;
const CONTROL = /\p{Cc}/u;

/** True for what stands for a repository: `ADD` of one is a feature of BuildKit. Pure. */
export function isRepository(text: string): boolean {
  return (HTTP.test(text) && GIT_PATH.test(text)) || /^(?:git:\/\/|git@|github\.com\/)/.test(text);
}

/** True for what is fetched by HTTP. Pure. */
export function isUrl(text: string): boolean {
  return HTTP.test(text);
}

/**
 * `remote` of POST /build by the rules of dockerd: a URL whose path ends in `.git`, `git://`, `git@` and `github.com/`
 * are repositories, with `#ref:directory` behind them; other http and https URLs are files. Throws invalid_argument for
 * anything else, and for a ref that git would take for an option. Pure.
 */
export function parseRemote(text: string): Remote {
  if (CONTROL.test(text)) {
    throw invalidArgument('remote: control characters in its address');
  }
  if (isRepository(text)) {
    return parseRepository(text);
  }
  if (!isUrl(text) || !URL.canParse(text)) {
    throw invalidArgument(`remoteURL (${text}) could not be recognized as URL`);
  }
  return { kind: 'url', url: new URL(text) };
}

function parseRepository(text: string): GitRemote {
  const full = text.startsWith('github.com/') ? `https://${text}` : text;
  const [remote = '', ...rest] = full.split('#');
  if (!remote.startsWith('git@') && !URL.canParse(remote)) {
    throw invalidArgument(`remoteURL (${text}) could not be recognized as URL`);
  }
  const fragment = rest.join('#');
  const colon = fragment.indexOf(':');
  const ref = (colon === -1 ? fragment : fragment.slice(0, colon)) || 'HEAD';
  const directory = colon === -1 ? '' : fragment.slice(colon + 1);
  if (ref.startsWith('-')) {
    throw invalidArgument(`invalid refspec: ${ref}`);
  }
  return { kind: 'git', remote, ref, directory };
}
