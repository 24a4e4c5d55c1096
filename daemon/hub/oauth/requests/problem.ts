import { EngineError } from '../../../base/errors.ts';

/** RFC 6749, 4.1.2.1 and 5.2; RFC 7009, 2.2.1. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'unsupported_token_type'
  | 'invalid_scope';

/** An error that OAuth has a word for: `details.oauth`. */
export function oauthProblem(code: OAuthErrorCode, message: string): EngineError {
  return new EngineError(code === 'invalid_client' ? 'unauthorized' : 'invalid_argument', message, {
    details: { oauth: code },
  });
}
