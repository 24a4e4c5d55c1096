import type { IncomingMessage } from 'node:http';
import { limits } from '../../../daemon/base/limits.ts';
import type { RegistryUpload, UploadBody } from '../../types/hub/registry.ts';
import { answerEmpty, header, refused, type Exchange } from './exchange.ts';
import { readContentRange } from './range.ts';

/** As the engine sends it (storage/registry/push-repository.ts). */
const TICKET = 'berth-layer';

interface UploadName {
  name: string;
  id: string;
}

/**
 * `POST`: begins an upload; with `mount` and `from` takes a blob of another repository instead, where that has it; with
 * `digest` the body is the whole blob. The engine of this host shows with `mount` that it has the layer itself.
 */
export async function startUpload(
  { req, res, query, session }: Exchange,
  { name }: { name: string },
): Promise<void> {
  session.admit('registry_push');
  const [mount, from, digest] = [query.get('mount'), query.get('from'), query.get('digest')];
  if (mount !== null && from !== null && (await session.mountBlob(name, mount, from))) {
    answerEmpty(res, 201, { Location: blobPath(name, mount), 'Docker-Content-Digest': mount });
    return;
  }
  const ticket = header(req, TICKET);
  if (mount !== null && ticket !== undefined && (await session.takeLayer(name, mount, ticket))) {
    answerEmpty(res, 201, { Location: blobPath(name, mount), 'Docker-Content-Digest': mount });
    return;
  }
  const upload = await session.startUpload(name);
  if (digest !== null && mount === null) {
    await finish({ req, session }, { name, id: upload.id }, digest);
    answerEmpty(res, 201, { Location: blobPath(name, digest), 'Docker-Content-Digest': digest });
    return;
  }
  answerEmpty(res, 202, progress(name, upload));
}

/** `GET`: how far it has come. */
export async function getUpload({ res, session }: Exchange, { name, id }: UploadName): Promise<void> {
  answerEmpty(res, 204, progress(name, await session.upload(name, id)));
}

/** `PATCH`: the next bytes. */
export async function patchUpload({ req, res, session }: Exchange, { name, id }: UploadName): Promise<void> {
  session.admit('registry_push');
  const upload = await receiving(req, (body) => session.appendUpload(name, id, body));
  answerEmpty(res, 202, progress(name, upload));
}

/** `PUT`: the last bytes, and what the whole must be. */
export async function putUpload(
  { req, res, query, session }: Exchange,
  { name, id }: UploadName,
): Promise<void> {
  session.admit('registry_push');
  const digest = query.get('digest');
  if (digest === null) {
    throw refused('DIGEST_INVALID', 'the parameter digest is missing');
  }
  await finish({ req, session }, { name, id }, digest);
  answerEmpty(res, 201, { Location: blobPath(name, digest), 'Docker-Content-Digest': digest });
}

/** `DELETE`: gives it up. */
export async function deleteUpload({ res, session }: Exchange, { name, id }: UploadName): Promise<void> {
  await session.cancelUpload(name, id);
  answerEmpty(res, 204);
}

async function finish(
  { req, session }: Pick<Exchange, 'req' | 'session'>,
  { name, id }: UploadName,
  digest: string,
): Promise<void> {
  await receiving(req, (body) => session.finishUpload(name, id, digest, body));
}

/** Cuts off a client that sends nothing for long: nobody else may add to its upload meanwhile. */
async function receiving<T>(req: IncomingMessage, take: (body: UploadBody) => Promise<T>): Promise<T> {
  const { socket } = req;
  const cut = (): void => {
    socket.destroy();
  };
  const rest = (): void => {
    socket.off('timeout', cut);
    socket.setTimeout(0);
  };
  socket.setTimeout(limits.hubUploadStallMs);
  socket.once('timeout', cut);
  req.once('end', rest);
  try {
    return await take(bodyOf(req));
  } finally {
    rest();
  }
}

/** Throws RANGE_INVALID for a `Content-Range` that is none. */
function bodyOf(req: IncomingMessage): UploadBody {
  const said = header(req, 'content-range');
  const range = said === undefined ? undefined : readContentRange(said);
  if (said !== undefined && range === undefined) {
    throw refused(
      'RANGE_INVALID',
      `Content-Range must look like 0-1023, not ${JSON.stringify(said.slice(0, 64))}`,
    );
  }
  const length = header(req, 'content-length');
  const isEmpty = length === undefined && header(req, 'transfer-encoding') === undefined;
  return { bytes: req, length: isEmpty ? 0 : length === undefined ? undefined : Number(length), range };
}

function progress(name: string, { id, size }: RegistryUpload): Record<string, string> {
  return {
    Location: `/v2/${name}/blobs/uploads/${id}`,
    Range: `0-${Math.max(0, size - 1)}`,
    'Docker-Upload-UUID': id,
    // Docker sends what it has in one piece; others may in pieces of any size.
    'OCI-Chunk-Min-Length': '1',
  };
}

function blobPath(name: string, digest: string): string {
  return `/v2/${name}/blobs/${digest}`;
}
