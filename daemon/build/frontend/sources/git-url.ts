import { posix } from 'node:path';
import { invalidArgument } from '../../../base/errors.ts';
import { parseBool } from '../../../base/go/values.ts';

/** A repository as Dockerfiles and clients name it. */
export interface GitUrl {
  /** As git takes it, without query and fragment. */
  remote: string;
  ref: string;
  subdirectory: string;
  /** Undefined: not said. */
  keepsGitDirectory: boolean | undefined;
  skipsSubmodules: boolean;
  checksum: string;
}

const SCP = /^[\w.~-]+@[\w.-]+:(?!\/\/)[^?#]+/;
const HTTP = /^https?:\/\//;

/**
 * `git://`, `ssh://`, `user@host:path`, and http and https whose path ends in `.git`, with `#ref:directory` or
 * `?ref=..&subdir=..` behind; undefined for anything else. Throws invalid_argument for a query that says nothing. Pure.
 */
export function parseGitUrl(text: string): GitUrl | undefined {
  const [, address = '', query = '', fragment = ''] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text) ?? [];
  const isGit =
    SCP.test(text) || (/^(?:git|ssh):\/\//.test(text) && URL.canParse(address)) || isGitOverHttp(address);
  if (!isGit) {
    return undefined;
  }
  const said = readQuery(new URLSearchParams(query), splitFragment(fragment));
  refuseOption(said.ref);
  return { remote: address, ...said };
}

/** `ref:directory`, each of which may be missing. Pure. */
export function splitFragment(fragment: string): { ref: string; directory: string } {
  const colon = fragment.indexOf(':');
  return colon < 0
    ? { ref: fragment, directory: '' }
    : { ref: fragment.slice(0, colon), directory: fragment.slice(colon + 1) };
}

/** Throws invalid_argument for a ref that git would take for an option. */
export function refuseOption(ref: string): void {
  if (ref.startsWith('-')) {
    throw invalidArgument(`invalid refspec: ${ref}`);
  }
}

function isGitOverHttp(address: string): boolean {
  return HTTP.test(address) && URL.canParse(address) && new URL(address).pathname.endsWith('.git');
}

function readQuery(
  query: URLSearchParams,
  fragment: { ref: string; directory: string },
): Omit<GitUrl, 'remote'> {
  const one = (name: string): string | undefined => {
    const values = query.getAll(name);
    if (values.length > 1) {
      throw invalidArgument(`query "${name}" has multiple values`);
    }
    return values[0];
  };
  for (const name of query.keys()) {
    if (!KEYS.has(name)) {
      throw invalidArgument(`unexpected query "${name}"`);
    }
    if (one(name) === '' && !FLAGS.includes(name)) {
      throw invalidArgument(`query "${name}" has no value`);
    }
  }
  const flag = (name: string): boolean | undefined => {
    const value = one(name);
    return value === undefined ? undefined : value === '' || parseBool(value);
  };
  if (![undefined, 'checkout'].includes(one('mtime'))) {
    throw invalidArgument(`query "mtime": ${one('mtime')} is not supported`);
  }
  return {
    ref: same('ref', [
      fragment.ref,
      one('ref'),
      prefixed('refs/tags/', one('tag')),
      prefixed('refs/heads/', one('branch')),
    ]),
    subdirectory: cleanPath(same('subdir', [fragment.directory, one('subdir')])),
    keepsGitDirectory: flag('keep-git-dir'),
    skipsSubmodules: flag('submodules') === false,
    checksum: same('checksum', [one('checksum'), one('commit')]),
  };
}

const FLAGS = ['keep-git-dir', 'submodules', 'fetch-by-commit'];
const KEYS = new Set(['ref', 'tag', 'branch', 'subdir', 'checksum', 'commit', 'mtime', ...FLAGS]);

function prefixed(prefix: string, name: string | undefined): string | undefined {
  return name === undefined || name.startsWith(prefix) ? name : `${prefix}${name}`;
}

/** What is said twice must be the same. */
function same(what: string, values: readonly (string | undefined)[]): string {
  const [first = '', ...others] = [...new Set(values)].filter((value) => value !== undefined && value !== '');
  if (others[0] !== undefined) {
    throw invalidArgument(`${what} conflicts: ${JSON.stringify(first)} vs ${JSON.stringify(others[0])}`);
  }
  return first;
}

/** Never above the repository. */
function cleanPath(directory: string): string {
  return posix.join('/', directory).slice(1);
}
