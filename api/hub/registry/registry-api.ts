import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { HubRegistryPort } from '../../types/hub/registry.ts';
import { addressOf } from '../request/address.ts';
import { deleteBlob, getBlob, headBlob } from './blobs.ts';
import { toRegistryFailure, type ChallengeFacts } from './errors.ts';
import { answerEmpty, answerJson, header, refused, type Exchange } from './exchange.ts';
import { listCatalogue, listReferrers, listTags } from './lists.ts';
import { deleteManifest, getManifest, putManifest } from './manifests.ts';
import { readTarget, type RegistryTarget } from './target.ts';
import { answerToken } from './token.ts';
import { deleteUpload, getUpload, patchUpload, putUpload, startUpload } from './uploads.ts';

export interface RegistryApiDeps {
  registry: HubRegistryPort;
  log: Logger;
  /** Where clients find the hub, without a slash at its end. */
  baseUrl: string;
  /** Version of the engine, for the Server header. */
  version: string;
}

export interface RegistryApi {
  /** Answers a request, where its path is one of the registry. */
  handle(req: IncomingMessage, res: ServerResponse, url: string): boolean;
}

/** The HTTP of the registry: `/v2/...` and `/token`. Bytes are streamed, so it stands beside the routes of JSON. */
export function createRegistryApi(deps: RegistryApiDeps): RegistryApi {
  const { baseUrl, log } = deps;
  const facts: ChallengeFacts = { realm: `${baseUrl}/token`, service: new URL(baseUrl).host };
  return {
    handle: (req, res, url) => {
      const { pathname = '', searchParams } = addressOf(url, baseUrl) ?? {};
      if (searchParams === undefined) {
        return false;
      }
      if (pathname !== '/token' && pathname !== '/v2' && !pathname.startsWith('/v2/')) {
        return false;
      }
      void serve(deps, { req, res, path: pathname, query: searchParams })
        .catch((error: unknown) => answerError({ req, res }, error, facts, log))
        .catch((error: unknown) => log.error({ err: error }, 'a request of the registry was not answered'));
      return true;
    },
  };
}

async function serve(
  { registry, version }: RegistryApiDeps,
  request: Omit<Exchange, 'session'>,
): Promise<void> {
  const { req, res, path } = request;
  res.setHeader('Server', `Berth/${version}`);
  res.setHeader('Docker-Distribution-API-Version', 'registry/2.0');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  if (path === '/token') {
    allow(req, res, ['GET', 'POST']);
    await answerToken(registry, request);
    return;
  }
  const target = readTarget(path);
  const session = await registry.session({
    authorization: header(req, 'authorization') || undefined,
    address: req.socket.remoteAddress ?? '',
  });
  if (target === undefined) {
    throw refused('NAME_UNKNOWN', 'no such path of a registry');
  }
  await answer({ ...request, session }, target);
}

type Handler<Target> = (exchange: Exchange, target: Target) => void | Promise<void>;

/** Every operation, by what its path leads to and its method. */
const HANDLERS: {
  [Kind in RegistryTarget['kind']]: Readonly<
    Record<string, Handler<Extract<RegistryTarget, { kind: Kind }>>>
  >;
} = {
  base: { GET: answerBase, HEAD: answerBase },
  catalogue: { GET: listCatalogue },
  tags: { GET: listTags },
  referrers: { GET: listReferrers },
  manifest: { GET: getManifest, HEAD: getManifest, PUT: putManifest, DELETE: deleteManifest },
  uploads: { POST: startUpload },
  upload: { GET: getUpload, PATCH: patchUpload, PUT: putUpload, DELETE: deleteUpload },
  blob: { GET: getBlob, HEAD: headBlob, DELETE: deleteBlob },
};

const PATHS: Readonly<Record<RegistryTarget['kind'], string>> = {
  base: '/v2/',
  catalogue: '/v2/_catalog',
  tags: '/v2/:owner/:repo/tags/list',
  referrers: '/v2/:owner/:repo/referrers/:digest',
  manifest: '/v2/:owner/:repo/manifests/:reference',
  uploads: '/v2/:owner/:repo/blobs/uploads/',
  upload: '/v2/:owner/:repo/blobs/uploads/:id',
  blob: '/v2/:owner/:repo/blobs/:digest',
};

/** `GET /v2/_catalog` and all others, for API.md. */
export const REGISTRY_OPERATIONS: readonly string[] = [
  'GET /token',
  'POST /token',
  ...Object.entries(HANDLERS).flatMap(([kind, handlers]) =>
    // The keys of one table are those of the other.
    Object.keys(handlers).map((method) => `${method} ${PATHS[kind as RegistryTarget['kind']]}`),
  ),
];

async function answer(exchange: Exchange, target: RegistryTarget): Promise<void> {
  const { req, res } = exchange;
  // The table has for each kind what takes a target of this kind; the compiler does not follow that.
  const handlers = HANDLERS[target.kind] as Readonly<Record<string, Handler<RegistryTarget>>>;
  allow(req, res, Object.keys(handlers));
  await handlers[req.method ?? '']?.(exchange, target);
}

/** Whether this is a registry, and who is asking: `docker login` learns here where access tokens are. */
function answerBase({ res, session }: Exchange): void {
  if (session.isBare) {
    throw refused('UNAUTHORIZED', 'authentication required');
  }
  answerJson(res, 200, {});
}

/** Throws UNSUPPORTED. */
function allow(req: IncomingMessage, res: ServerResponse, methods: readonly string[]): void {
  if (!methods.includes(req.method ?? '')) {
    res.setHeader('Allow', methods.join(', '));
    throw refused(
      'UNSUPPORTED',
      `the operation is unsupported: ${req.method} is not of ${methods.join(', ')}`,
    );
  }
}

function answerError(
  { req, res }: Pick<Exchange, 'req' | 'res'>,
  error: unknown,
  facts: ChallengeFacts,
  log: Logger,
): void {
  const { status, headers, body, level } = toRegistryFailure(error, facts);
  log[level]({ method: req.method, path: req.url, status, err: error }, 'request of the registry failed');
  if (res.headersSent || res.destroyed) {
    // The client sees that it got less than it was told.
    res.destroy();
    return;
  }
  for (const name of DESCRIBING) {
    res.removeHeader(name);
  }
  for (const [name, value] of Object.entries(headers)) {
    res.setHeader(name, value);
  }
  if (req.method === 'HEAD') {
    answerEmpty(res, status);
    return;
  }
  answerJson(res, status, body);
}

/** Headers of what would have been sent. */
const DESCRIBING = [
  'Content-Type',
  'Content-Length',
  'Docker-Content-Digest',
  'ETag',
  'Accept-Ranges',
  'Link',
];
