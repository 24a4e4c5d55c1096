import { createPublicKey } from 'node:crypto';
import { decodeJwt, errors, jwtVerify, type JWTPayload } from 'jose';
import { EngineError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { App } from './app.ts';
import type { Apps } from './apps.ts';

const THREE_PARTS = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

/** Whether a secret is a JSON web token, by its looks. */
export function looksLikeJwt(secret: string): boolean {
  return THREE_PARTS.test(secret);
}

/**
 * The app that signed a JSON web token with one of its keys (RFC 7519; GitHub: generating a JWT for an app): RS256 and
 * nothing else, `iss` its id or client id, `exp` at most ten minutes ahead, clocks at most a minute apart. Throws
 * unauthorized with what is wrong.
 */
export async function verifyAppJwt(apps: Apps, jwt: string, nowMs: number): Promise<App> {
  const app = issuerOf(apps, jwt);
  for (const { publicKey } of app?.keys ?? []) {
    const payload = await verified(jwt, publicKey, nowMs);
    if (app !== undefined && payload !== undefined) {
      refuseTimes(payload, nowMs);
      return app;
    }
  }
  throw refused('A JSON web token could not be decoded');
}

/** The payload when the key made the signature; undefined = another one did. Throws unauthorized. */
async function verified(jwt: string, publicKey: string, nowMs: number): Promise<JWTPayload | undefined> {
  try {
    const { payload } = await jwtVerify(jwt, createPublicKey(publicKey), {
      // Whatever the header says: the public half must not serve as a secret of another algorithm.
      algorithms: ['RS256'],
      currentDate: new Date(nowMs),
      clockTolerance: limits.hubAppClockSkewMs / 1000,
      requiredClaims: ['iss', 'iat', 'exp'],
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) {
      return undefined;
    }
    if (error instanceof errors.JWTExpired) {
      throw refused("'Expiration time' claim ('exp') must be a numeric value representing the future time");
    }
    throw refused('A JSON web token could not be decoded', error);
  }
}

function refuseTimes({ iat = Number.NaN, exp = Number.NaN }: JWTPayload, nowMs: number): void {
  const skewMs = limits.hubAppClockSkewMs;
  if (!Number.isFinite(exp) || exp * 1000 > nowMs + limits.hubAppJwtMs + skewMs) {
    throw refused("'Expiration time' claim ('exp') is too far in the future");
  }
  if (!Number.isFinite(iat) || iat * 1000 > nowMs + skewMs) {
    throw refused("'Issued at' claim ('iat') must be a time in the past");
  }
}

/** Who says to have signed it: not believed yet. */
function issuerOf(apps: Apps, jwt: string): App | undefined {
  // Some libraries write the id as a number.
  const claim: unknown = payloadOf(jwt)?.iss;
  const issuer = typeof claim === 'number' || typeof claim === 'string' ? String(claim) : '';
  if (/^[1-9]\d{0,14}$/.test(issuer)) {
    return apps.app(Number(issuer));
  }
  const found = apps.byClientId(issuer);
  return found?.kind === 'app' ? found : undefined;
}

function payloadOf(jwt: string): JWTPayload | undefined {
  try {
    return decodeJwt(jwt);
  } catch (error) {
    throw refused('A JSON web token could not be decoded', error);
  }
}

function refused(text: string, cause?: unknown): EngineError {
  return new EngineError('unauthorized', text, { cause });
}
