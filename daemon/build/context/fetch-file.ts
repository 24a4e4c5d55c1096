import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { download, showUrl } from '../../../storage/downloads/download.ts';
import { toBytes } from '../../../storage/files/view.ts';
import type { Spool, SpoolOptions } from '../../../storage/spool/spool.ts';
import { plainMember } from '../../../storage/tar/plain-member.ts';
import { failpoint } from '../../base/failpoint.ts';
import { BuildTree } from '../snapshots/tree.ts';
import { close } from './archive.ts';

/** A file that came by HTTP; its bytes are in `spool`, as they came. */
export interface FetchedFile {
  spool: Pick<Spool, 'fd' | 'size' | typeof Symbol.asyncDispose>;
  /** sha256:... */
  digest: string;
  /** `Last-Modified`; 0 = the server does not say. */
  mtimeSeconds: number;
}

export interface Fetching {
  signal: AbortSignal;
  /** In place of a download. */
  open?: () => ReturnType<typeof download>;
  /** The server answers. What it throws ends the download. */
  answered?: (headers: { disposition: string | undefined }) => void;
  /** So far; `total` undefined = the server does not say. */
  came: (bytes: number, total: number | undefined) => void;
}

/** Writes a stream to a file without a name, as it is. Satisfied by `storage/files`. */
export interface FileSpools {
  raw(source: Readable, options: SpoolOptions): Promise<Spool>;
}

/** Gets a file by HTTP, for ADD and for graphs. Throws as `download`; then nothing of it is left. */
export async function fetchFile(
  spools: FileSpools,
  url: URL,
  { signal, open, answered, came }: Fetching,
): Promise<FetchedFile> {
  failpoint('build.context.file');
  const { headers, size, body } = await (open?.() ?? download(url, signal));
  try {
    answered?.({ disposition: headers['content-disposition'] });
  } catch (error) {
    body.destroy();
    throw error;
  }
  const hash = createHash('sha256');
  let current = 0;
  const seen = (chunk: Buffer): void => {
    hash.update(chunk);
    current += chunk.length;
    came(current, size);
  };
  const spool = await spools.raw(body, { what: showUrl(url), signal, seen });
  const ms = Date.parse(headers['last-modified'] ?? '');
  const mtimeSeconds = Number.isNaN(ms) ? 0 : Math.floor(ms / 1000);
  return { spool, digest: `sha256:${hash.digest('hex')}`, mtimeSeconds };
}

/** One file at the root of a tree, which gives its bytes back. */
export function fileTree(
  { spool, digest, mtimeSeconds }: FetchedFile,
  { name, mode, uid, gid }: { name: string; mode: number; uid: number; gid: number },
): BuildTree {
  const path = toBytes(name);
  const plain = plainMember(path, { type: 'file', mode, mtimeSeconds });
  const entry = {
    path,
    digest: digest.slice('sha256:'.length),
    member: { ...plain, size: spool.size, uid, gid },
  };
  const context = { tree: new ContextTree(new Map([[path, entry]])), fd: spool.fd, isBare: false };
  return new BuildTree({ kind: 'files', context }, () => close(spool));
}

/** Of the URL, else of `Content-Disposition`; `''` = neither tells one. Pure. */
export function fileName(url: URL, disposition: string | undefined): string {
  const path = decoded(url.pathname);
  const said = /(?:^|;)\s*filename\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(disposition ?? '');
  for (const candidate of [path, said?.[1] ?? said?.[2] ?? '']) {
    const name = candidate.endsWith('/') ? '' : posix.basename(candidate);
    if (name !== '' && name !== '.' && name !== '..' && !name.includes('\0')) {
      return name;
    }
  }
  return '';
}

function decoded(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    // Not in UTF-8, or no escape at all: it stands for itself.
    return pathname;
  }
}
