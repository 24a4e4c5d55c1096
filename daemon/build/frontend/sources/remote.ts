import { posix } from 'node:path';
import { invalidArgument } from '../../../base/errors.ts';
import type { GitSource, HttpSource, Vertex } from '../../graph/op.ts';
import type { FilesCommand } from '../instructions/command.ts';
import { parseGitUrl } from './git-url.ts';

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const COMMIT = /^[0-9a-f]{7,64}$/;

export function isGit(source: string): boolean {
  return parseGitUrl(source) !== undefined;
}

export function isHttp(source: string): boolean {
  return /^https?:\/\//.test(source) && !isGit(source);
}

/** What a URL of a client stands for as a context. */
export type ContextSource =
  | { kind: 'git'; op: GitSource }
  /** A tar or a Dockerfile. */
  | { kind: 'http'; url: URL }
  /** What the client's session has as a stream, by this path. */
  | { kind: 'upload'; path: string };

const UPLOADS = 'buildkit-session';

/** Throws invalid_argument for what is no URL of a context. */
export function contextSource(text: string, keepsGitDirectory: boolean): ContextSource {
  // As older clients wrote it.
  const full = text.startsWith('github.com/') ? `https://${text}` : text;
  if (isGit(full)) {
    const flags = { keepsGitDirectory: keepsGitDirectory ? true : undefined, checksum: '' };
    return { kind: 'git', op: gitSource(full, flags, text).op };
  }
  if (!isHttp(full) || !URL.canParse(full)) {
    throw invalidArgument(`context ${text}: it is no address of a repository, nor of a file by HTTP`);
  }
  const url = new URL(full);
  return url.hostname === UPLOADS ? { kind: 'upload', path: url.pathname } : { kind: 'http', url };
}

/** ADD of a repository. Throws invalid_argument where address and flags say different things. */
export function gitSource(
  source: string,
  { keepsGitDirectory, checksum }: Pick<FilesCommand, 'keepsGitDirectory' | 'checksum'>,
  name: string,
): Vertex & { op: GitSource } {
  const url = parseGitUrl(source);
  if (url === undefined) {
    throw invalidArgument(`${source} is no address of a git repository`);
  }
  const said = [keepsGitDirectory, url.keepsGitDirectory].filter((value) => value !== undefined);
  if (said.length === 2 && said[0] !== said[1]) {
    throw invalidArgument('inconsistent keep-git-dir configuration');
  }
  if (checksum !== '' && url.checksum !== '' && checksum !== url.checksum) {
    throw invalidArgument(`checksum mismatch ${JSON.stringify(checksum)} != ${JSON.stringify(url.checksum)}`);
  }
  const commit = checksum || url.checksum;
  refuseNoCommit(commit);
  const op: GitSource = {
    kind: 'git',
    remote: url.remote,
    ref: url.ref,
    subdirectory: url.subdirectory,
    keepsGitDirectory: said[0] ?? false,
    checksum: commit,
    ...(url.skipsSubmodules && { skipsSubmodules: true }),
  };
  return { op, inputs: [], name };
}

/** `''`: any commit will do. Throws invalid_argument for what is none, in BuildKit's words. Pure. */
export function refuseNoCommit(checksum: string): void {
  if (checksum !== '' && !COMMIT.test(checksum)) {
    throw invalidArgument(`invalid checksum ${checksum} for Git URL, expected hex commit hash`);
  }
}

/** ADD of one file by HTTP. */
export function httpSource(
  url: string,
  { checksum }: Pick<FilesCommand, 'checksum'>,
  name: string,
): Vertex & { op: HttpSource } {
  if (!URL.canParse(url)) {
    throw invalidArgument(`${url} is no URL`);
  }
  if (checksum !== '' && !DIGEST.test(checksum)) {
    throw invalidArgument(`invalid checksum digest format: ${checksum}`);
  }
  const base = decoded(posix.basename(new URL(url).pathname));
  const fileName = base === '' || base === '.' || base === '..' || base.includes('/') ? '__unnamed__' : base;
  const op: HttpSource = { kind: 'http', url, checksum, fileName, owner: { uid: 0, gid: 0 } };
  return { op, inputs: [], name };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that begins nothing: the name as it is.
    return text;
  }
}
