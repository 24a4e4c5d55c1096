import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { download, showUrl, type Download } from '../../../storage/downloads/download.ts';
import { toBytes } from '../../../storage/files/view.ts';
import { plainMember } from '../../../storage/tar/plain-member.ts';
import { progressBar } from '../progress.ts';
import { EngineError, invalidArgument, isEngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { ContextEntry } from '../../../storage/contexts/entries.ts';
import type { BuildProgress } from './progress.ts';
import type { Build } from './state.ts';

/** A file of ADD by URL, on disk. */
export interface DownloadedFile extends AsyncDisposable {
  entry: ContextEntry;
  fd: number;
}

/** dockerd's name for what has none. */
const UNNAMED = '__unnamed__';
const PROGRESS_MS = 200;

/**
 * Gets what ADD names by URL: a file of root's, mode 0600, of the time that the server says (`Last-Modified`), called
 * as the last part of the URL's path. Throws invalid_argument when it has no name and `target` needs one, and as
 * `download`.
 */
export async function downloadFile(build: Build, text: string, target: string): Promise<DownloadedFile> {
  if (!URL.canParse(text)) {
    throw invalidArgument(`ADD failed: ${text} is no URL`);
  }
  const { spools, progress, signal } = build;
  const url = new URL(text);
  failpoint('images.build.add');
  const { headers, size, body } = await begin(url, progress, signal);
  const name = fileName(url, headers['content-disposition']);
  if (name === '' && target.endsWith('/')) {
    body.destroy();
    throw invalidArgument(`ADD failed: cannot determine filename for source ${showUrl(url)}`);
  }
  const hash = createHash('sha256');
  const tell = teller(progress, size);
  const seen = (chunk: Buffer): void => {
    hash.update(chunk);
    tell(chunk.length);
  };
  const spool = await spools.raw(body, { what: `ADD ${showUrl(url)}`, signal, seen });
  progress.say('\n');
  const path = toBytes(name || UNNAMED);
  const entry: ContextEntry = {
    path,
    digest: hash.digest('hex'),
    member: {
      ...plainMember(path, { type: 'file', mode: 0o600, mtimeSeconds: secondsOf(headers['last-modified']) }),
      size: spool.size,
    },
  };
  return { entry, fd: spool.fd, [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose]() };
}

/** A client that has to wait for an answer is told which server it waits for. */
async function begin(url: URL, progress: BuildProgress, signal: AbortSignal): Promise<Download> {
  const told = setTimeout(() => progress.send({ status: `Waiting for ${url.host}` }), limits.waitingToldMs);
  try {
    return await download(url, signal);
  } catch (error) {
    throw isEngineError(error) && error.code !== 'canceled'
      ? new EngineError(error.code, `ADD failed: ${error.message}`, { cause: error, details: error.details })
      : error;
  } finally {
    clearTimeout(told);
  }
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

function secondsOf(lastModified: string | undefined): number {
  const ms = Date.parse(lastModified ?? '');
  return Number.isNaN(ms) ? 0 : Math.floor(ms / 1000);
}

function teller(progress: BuildProgress, total: number | undefined): (bytes: number) => void {
  let current = 0;
  let next = 0;
  return (bytes) => {
    current += bytes;
    const now = performance.now();
    if (now < next && current !== total) {
      return;
    }
    next = now + PROGRESS_MS;
    progress.send({
      status: 'Downloading',
      progressDetail: { current, ...(total !== undefined && { total }) },
      ...(total !== undefined && { progress: progressBar(current, total) }),
    });
  };
}
