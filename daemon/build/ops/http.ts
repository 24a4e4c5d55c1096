import { Readable } from 'node:stream';
import { showUrl } from '../../../storage/downloads/download.ts';
import { invalidArgument } from '../../base/errors.ts';
import { KeptUploads } from '../context/kept-uploads.ts';
import { fetchFile, fileTree, type FetchedFile } from '../context/fetch-file.ts';
import type { HttpSource } from '../graph/op.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import type { RunContext, SourceKey } from '../solver/ports.ts';
import { sessionOf, type OpDeps } from './ports.ts';

const MODE = 0o600;

/** What the key of a download was made of: the bytes that are used must be the same. */
const known = new WeakMap<HttpSource, string>();
/** Downloads for keys, until they are taken as results, or their builds end. */
const waiting = new WeakMap<HttpSource, FetchedFile>();

/** Known by its content: where the Dockerfile tells it nothing is asked, else it is downloaded. */
export async function httpKey(deps: OpDeps, op: HttpSource, context: RunContext): Promise<SourceKey> {
  let digest = op.checksum;
  if (digest === '') {
    const fetched = await fetch(deps, op, context);
    digest = fetched.digest;
    known.set(op, digest);
    await keep(op, fetched, context.signal);
  }
  context.used({ kind: 'http', url: op.url, digest });
  const { fileName, mode = MODE, owner } = op;
  return { key: `http ${JSON.stringify([digest, fileName, mode, owner.uid, owner.gid])}`, isLasting: true };
}

/** One file at the root of the tree. Throws where its bytes are not those that were expected. */
export async function runHttp(deps: OpDeps, op: HttpSource, context: RunContext): Promise<BuildTree> {
  const fetched = take(op) ?? (await fetch(deps, op, context));
  const expected = op.checksum === '' ? known.get(op) : op.checksum;
  if (expected !== undefined && expected !== fetched.digest) {
    await fetched.spool[Symbol.asyncDispose]();
    throw invalidArgument(`digest mismatch ${fetched.digest}: ${expected} of ${op.url}`);
  }
  const { fileName, mode = MODE, owner } = op;
  return fileTree(fetched, { name: fileName, mode, ...owner });
}

/** What clients have as a stream is named as if it were a host. */
const SESSION_HOST = 'buildkit-session';

/** Of clients that have sent them; their trees are only what holds them. */
const uploads = new KeptUploads<{ file: FetchedFile; tree: BuildTree }>();

/** A stream of the client: it sends each once in its session. */
async function upload(deps: OpDeps, address: URL, context: RunContext): Promise<FetchedFile> {
  const { signal } = context;
  const session = await sessionOf(deps.sessions, context.sessions(), signal);
  const path = address.pathname.replace(/^\//, '');
  const { file, tree } = await uploads.take(session, path, async () => {
    const body = Readable.from(session.upload(path, signal));
    const came = await fetchByHttp(deps, address, context, body);
    return { file: came, tree: fileTree(came, { name: 'upload', mode: MODE, uid: 0, gid: 0 }) };
  });
  const { fd, size } = file.spool;
  const letGo = (): Promise<void> => {
    tree[Symbol.dispose]();
    return Promise.resolve();
  };
  return { ...file, spool: { fd, size, [Symbol.asyncDispose]: letGo } };
}

function take(op: HttpSource): FetchedFile | undefined {
  const fetched = waiting.get(op);
  waiting.delete(op);
  return fetched;
}

async function keep(op: HttpSource, fetched: FetchedFile, signal: AbortSignal): Promise<void> {
  if (signal.aborted) {
    await fetched.spool[Symbol.asyncDispose]();
    return;
  }
  waiting.set(op, fetched);
  const drop = (): void => {
    if (waiting.get(op) === fetched) {
      waiting.delete(op);
      void fetched.spool[Symbol.asyncDispose]().catch(
        () => undefined /* a file without a name goes with its descriptor */,
      );
    }
  };
  signal.addEventListener('abort', drop, { once: true });
}

async function fetch(deps: OpDeps, { url }: HttpSource, context: RunContext): Promise<FetchedFile> {
  if (!URL.canParse(url)) {
    throw invalidArgument(`${url} is no URL`);
  }
  const address = new URL(url);
  const isUpload = address.protocol === 'http:' && address.host === SESSION_HOST;
  return isUpload ? await upload(deps, address, context) : await fetchByHttp(deps, address, context);
}

/** `body`: what it is read from in place of its server. */
async function fetchByHttp(
  deps: OpDeps,
  address: URL,
  context: RunContext,
  body?: Readable,
): Promise<FetchedFile> {
  let current = 0;
  const tell = (total: number | undefined, isDone: boolean): void =>
    context.work({
      name: `downloading ${showUrl(address)}`,
      current,
      ...(total !== undefined && { total }),
      isDone,
    });
  const fetched = await fetchFile(deps.spools, address, {
    signal: context.signal,
    ...(body && { open: () => Promise.resolve({ headers: {}, size: undefined, body }) }),
    came: (bytes, total) => {
      current = bytes;
      tell(total, false);
    },
  });
  tell(fetched.spool.size, true);
  return fetched;
}
