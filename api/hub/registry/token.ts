import type { IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '../../../daemon/base/limits.ts';
import type { HubRegistryPort, RegistryTokenRequest } from '../../types/hub/registry.ts';
import { readUpTo } from './body.ts';
import { answerJson, header, refused } from './exchange.ts';

/**
 * `GET /token` with the header `Authorization` or without, and `POST /token` as OAuth 2 (docker/distribution: token and
 * oauth2 specifications). Answers an access token.
 */
export async function answerToken(
  registry: HubRegistryPort,
  { req, res, query }: { req: IncomingMessage; res: ServerResponse; query: URLSearchParams },
): Promise<void> {
  const isForm = req.method === 'POST';
  const form = isForm
    ? new URLSearchParams((await readUpTo(req, limits.requestHeaderBytesMax)).toString('utf8'))
    : query;
  const request: RegistryTokenRequest = {
    scopes: form.getAll('scope'),
    grant: isForm ? grantOf(form) : { kind: 'authorization' },
    isOffline: isForm ? form.get('access_type') === 'offline' : form.get('offline_token') === 'true',
  };
  const credentials = {
    authorization: header(req, 'authorization'),
    address: req.socket.remoteAddress ?? '',
  };
  const given = await registry.token(request, credentials);
  res.setHeader('Cache-Control', 'no-store');
  answerJson(res, 200, {
    ...(!isForm && { token: given.token }),
    access_token: given.token,
    ...(isForm && { token_type: 'Bearer', scope: given.scope }),
    expires_in: given.expiresInS,
    issued_at: given.issuedAt,
    ...(given.refreshToken !== undefined && { refresh_token: given.refreshToken }),
  });
}

function grantOf(form: URLSearchParams): RegistryTokenRequest['grant'] {
  switch (form.get('grant_type') ?? '') {
    case 'password':
      return { kind: 'password', name: form.get('username') ?? '', secret: form.get('password') ?? '' };
    case 'refresh_token':
      return { kind: 'refresh', refreshToken: form.get('refresh_token') ?? '' };
    default:
      throw refused('UNSUPPORTED', 'grant_type must be password or refresh_token', { status: 400 });
  }
}
