import { EngineError } from '../../../daemon/base/errors.ts';
import { InvalidFieldsError } from '../../../daemon/base/invalid-fields.ts';
import type { HubFailure } from '../errors.ts';

/** Which shape errors have at a path of the hub: GitHub's, those of the seed's platform, or OAuth's. */
export function shapedFailure(path: string, error: unknown, failure: HubFailure): HubFailure {
  if (path.startsWith('/v1/organizations/')) {
    return platformFailure(error, failure);
  }
  return path.startsWith('/oauth/') ? oauthFailure(error, failure) : failure;
}

const CODES: Readonly<Record<number, string>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'unprocessable',
  422: 'unprocessable',
  429: 'too_many_requests',
  507: 'insufficient_storage',
};

/** `{code, message}`: as upstream. What OAuth has a word for has it beside them. */
function platformFailure(error: unknown, failure: HubFailure): HubFailure {
  const word = oauthWord(error);
  const isInvalid = error instanceof InvalidFieldsError;
  const status =
    word !== undefined && failure.status === 400 ? 422 : failure.status === 409 ? 422 : failure.status;
  return {
    ...failure,
    status,
    body: {
      code: isInvalid || word === 'invalid_request' ? 'invalid_params' : (CODES[status] ?? 'internal_error'),
      message: error instanceof InvalidFieldsError ? error.message : failure.body['message'],
      ...(word !== undefined && { error: word }),
    },
  };
}

/** RFC 6749, 4.1.2.1, which has no word of a token's for it: a client that tries again later may get one. */
const WORDS: Readonly<Record<number, string>> = {
  503: 'temporarily_unavailable',
  507: 'temporarily_unavailable',
};

/** RFC 6749, 5.2. */
function oauthFailure(error: unknown, failure: HubFailure): HubFailure {
  const word = oauthWord(error);
  const { status, headers } = failure;
  return {
    ...failure,
    headers: {
      ...headers,
      'Cache-Control': 'no-store',
      ...(word === 'invalid_client' && { 'WWW-Authenticate': 'Basic realm="hub", charset="UTF-8"' }),
    },
    body: {
      error: word ?? WORDS[status] ?? (status < 500 ? 'invalid_request' : 'server_error'),
      // RFC 6749 allows no quotes and no backslashes in it.
      error_description: String(failure.body['message']).replaceAll(/[^\x20-\x7e]|["\\]/g, ' '),
    },
  };
}

function oauthWord(error: unknown): string | undefined {
  const word = error instanceof EngineError ? error.details['oauth'] : undefined;
  return typeof word === 'string' ? word : undefined;
}
