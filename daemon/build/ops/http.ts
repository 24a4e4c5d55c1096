import { createHash } from 'node:crypto';
import { download, showUrl } from '../../../storage/downloads/download.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { toBytes } from '../../../storage/files/view.ts';
import type { Spool } from '../../../storage/spool/spool.ts';
import { plainMember } from '../../../storage/tar/plain-member.ts';
import { invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { HttpSource } from '../graph/op.ts';
import { BuildTree } from '../snapshots/tree.ts';
import type { RunContext, SourceKey } from '../solver/ports.ts';
import type { OpDeps } from './ports.ts';

const MODE = 0o600;

interface Fetched {
  spool: Spool;
  /** sha256:... */
  digest: string;
  mtimeSeconds: number;
}

/** What the key of a download was made of: the bytes that are used must be the same. */
const known = new WeakMap<HttpSource, string>();
/** Downloads for keys, until they are taken as results, or their builds end. */
const waiting = new WeakMap<HttpSource, Fetched>();

/** Known by its content: where the Dockerfile tells it nothing is asked, else it is downloaded. */
export async function httpKey(deps: OpDeps, op: HttpSource, context: RunContext): Promise<SourceKey> {
  let digest = op.checksum;
  if (digest === '') {
    const fetched = await fetch(deps, op, context);
    digest = fetched.digest;
    known.set(op, digest);
    await keep(op, fetched, context.signal);
  }
  const { fileName, mode = MODE, owner } = op;
  return { key: `http ${JSON.stringify([digest, fileName, mode, owner.uid, owner.gid])}`, isLasting: true };
}

/** One file at the root of the tree. Throws where its bytes are not those that were expected. */
export async function runHttp(deps: OpDeps, op: HttpSource, context: RunContext): Promise<BuildTree> {
  const { spool, digest, mtimeSeconds } = take(op) ?? (await fetch(deps, op, context));
  const expected = op.checksum === '' ? known.get(op) : op.checksum;
  if (expected !== undefined && expected !== digest) {
    await spool[Symbol.asyncDispose]();
    throw invalidArgument(`digest mismatch ${digest}: ${expected} of ${op.url}`);
  }
  const path = toBytes(op.fileName);
  const { mode = MODE, owner } = op;
  const member = {
    ...plainMember(path, { type: 'file', mode, mtimeSeconds }),
    size: spool.size,
    uid: owner.uid,
    gid: owner.gid,
  };
  const tree = new ContextTree(new Map([[path, { path, digest: digest.slice('sha256:'.length), member }]]));
  return new BuildTree({ kind: 'files', context: { tree, fd: spool.fd, isBare: false } }, () => {
    void spool[Symbol.asyncDispose]().catch(
      () => undefined /* a file without a name goes with its descriptor */,
    );
  });
}

function take(op: HttpSource): Fetched | undefined {
  const fetched = waiting.get(op);
  waiting.delete(op);
  return fetched;
}

async function keep(op: HttpSource, fetched: Fetched, signal: AbortSignal): Promise<void> {
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

async function fetch({ spools }: OpDeps, { url }: HttpSource, context: RunContext): Promise<Fetched> {
  if (!URL.canParse(url)) {
    throw invalidArgument(`${url} is no URL`);
  }
  const { signal } = context;
  const address = new URL(url);
  failpoint('build.ops.http');
  const { headers, size, body } = await download(address, signal);
  const hash = createHash('sha256');
  let current = 0;
  const tell = (isDone: boolean): void =>
    context.work({
      name: `downloading ${showUrl(address)}`,
      current,
      ...(size !== undefined && { total: size }),
      isDone,
    });
  const seen = (chunk: Buffer): void => {
    hash.update(chunk);
    current += chunk.length;
    tell(false);
  };
  const spool = await spools.raw(body, { what: showUrl(address), signal, seen });
  tell(true);
  const ms = Date.parse(headers['last-modified'] ?? '');
  const mtimeSeconds = Number.isNaN(ms) ? 0 : Math.floor(ms / 1000);
  return { spool, digest: `sha256:${hash.digest('hex')}`, mtimeSeconds };
}
