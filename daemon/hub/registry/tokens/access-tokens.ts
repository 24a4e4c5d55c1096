import { randomBytes } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import { Collection } from '../../records/collection.ts';
import type { Mirror } from '../../records/mirror.ts';
import { refusal } from '../refusal.ts';
import { nowMsOf } from '../registry-deps.ts';
import type { ScopeAccess } from './scopes.ts';

/** What an access token says. */
export interface AccessClaims {
  /** The hub's token that it was given for, by its hash; undefined = for nobody. */
  reference: string | undefined;
  access: readonly ScopeAccess[];
  /** What was asked for: of it, what is not in `access` may not be done. */
  asked: readonly ScopeAccess[];
}

interface Deps {
  mirror: Mirror;
  clock: Clock;
  /** Who gives and takes the tokens. */
  service: string;
}

const ALGORITHM = 'HS256';

/**
 * Access tokens of the registry: JSON web tokens that only this hub reads, so that one secret signs them, which is in
 * its records (`secret/registry`). They are worth nothing once the hub's token is revoked that they were given for.
 */
export class AccessTokens {
  readonly #deps: Deps;
  readonly #secrets: Collection<{ key: string }>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#secrets = new Collection(deps.mirror, 'secret/');
  }

  async issue({ reference, access, asked }: AccessClaims): Promise<{ token: string; issuedMs: number }> {
    const issuedMs = nowMsOf(this.#deps.clock);
    const token = await this.#sign(
      { access, asked, ...(reference !== undefined && { ref: reference }), use: 'access' },
      issuedMs,
      limits.hubAccessTokenS,
    );
    return { token, issuedMs };
  }

  /** What stands for the hub's token in later requests of access tokens, as long as that is good. */
  issueRefresh(reference: string): Promise<string> {
    return this.#sign({ ref: reference, use: 'refresh' }, nowMsOf(this.#deps.clock), undefined);
  }

  /** Throws UNAUTHORIZED. */
  async verify(token: string): Promise<AccessClaims> {
    const { ref, access, asked } = await this.#read(token, 'access');
    return {
      reference: typeof ref === 'string' ? ref : undefined,
      // As `issue` has signed them.
      access: access as readonly ScopeAccess[],
      // As above.
      asked: asked as readonly ScopeAccess[],
    };
  }

  /** The hub's token, by its hash. Throws UNAUTHORIZED. */
  async verifyRefresh(token: string): Promise<string> {
    const { ref } = await this.#read(token, 'refresh');
    return typeof ref === 'string' ? ref : '';
  }

  async #sign(claims: Record<string, unknown>, atMs: number, lifeS: number | undefined): Promise<string> {
    const { service } = this.#deps;
    const nowS = Math.floor(atMs / 1000);
    const jwt = new SignJWT({ ...claims, jti: randomBytes(12).toString('base64url') })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setIssuer(service)
      .setAudience(service)
      .setIssuedAt(nowS);
    return (lifeS === undefined ? jwt : jwt.setExpirationTime(nowS + lifeS)).sign(await this.#key());
  }

  async #read(token: string, use: string): Promise<Record<string, unknown>> {
    const { service, clock } = this.#deps;
    try {
      const { payload } = await jwtVerify(token, await this.#key(), {
        algorithms: [ALGORITHM],
        issuer: service,
        audience: service,
        currentDate: new Date(nowMsOf(clock)),
      });
      if (payload['use'] === use) {
        return payload;
      }
    } catch {
      // Whatever is wrong with it, the client has to get another one.
    }
    throw refusal('UNAUTHORIZED', 'the token is not valid, or no more', { tokenError: 'invalid_token' });
  }

  /** Made once for all hosts of the hub. */
  async #key(): Promise<Uint8Array> {
    const known = this.#secrets.get('registry');
    if (known !== undefined) {
      return Buffer.from(known.key, 'base64');
    }
    const fresh = randomBytes(32).toString('base64');
    const key = await this.#deps.mirror.change(() => {
      const made = this.#secrets.get('registry');
      return made === undefined
        ? { changes: [this.#secrets.put('registry', { key: fresh })], answer: fresh }
        : { changes: [], answer: made.key };
    });
    return Buffer.from(key, 'base64');
  }
}
