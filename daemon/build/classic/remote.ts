import { invalidArgument } from '../../base/errors.ts';
import { refuseOption, splitFragment } from '../frontend/sources/git-url.ts';
import type { ContextSource } from '../frontend/sources/remote.ts';

const HTTP = /^https?:\/\//i;
const GIT_PATH = /\.git(?:#.+)?$/;
const CONTROL = /\p{Cc}/u;

/**
 * `remote` of POST /build by the rules of dockerd's classic builder: a URL that ends in `.git`, `git://`, `git@` and
 * `github.com/` are repositories, with `#ref:directory` behind them; other http and https URLs are files. Throws
 * invalid_argument for anything else, and for a ref that git would take for an option. Pure.
 */
export function parseRemote(text: string): Exclude<ContextSource, { kind: 'upload' }> {
  if (CONTROL.test(text)) {
    throw invalidArgument('remote: control characters in its address');
  }
  const full = text.startsWith('github.com/') ? `https://${text}` : text;
  if (!isRepository(text)) {
    if (!HTTP.test(text) || !URL.canParse(text)) {
      throw notRecognized(text);
    }
    return { kind: 'http', url: new URL(text) };
  }
  const [remote = '', ...rest] = full.split('#');
  if (!remote.startsWith('git@') && !URL.canParse(remote)) {
    throw notRecognized(text);
  }
  const { ref, directory } = splitFragment(rest.join('#'));
  refuseOption(ref);
  // As dockerd's: `.git` is a part of the context.
  const op = { remote, ref, subdirectory: directory, keepsGitDirectory: true, checksum: '' };
  return { kind: 'git', op: { kind: 'git', ...op } };
}

function isRepository(text: string): boolean {
  return (HTTP.test(text) && GIT_PATH.test(text)) || /^(?:git:\/\/|git@|github\.com\/)/.test(text);
}

function notRecognized(text: string): Error {
  return invalidArgument(`remoteURL (${text}) could not be recognized as URL`);
}
