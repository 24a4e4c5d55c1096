import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';

/** What a link authorizes: a classic token for an organization. */
export interface SignOnRequest {
  token: number;
  organization: number;
}

/**
 * Addresses at which a user authorizes a token for an organization that asks for single sign-on, good for an hour
 * (seed 001, section 5 point 5). They carry what they are for, signed: a refused request leaves nothing behind.
 */
export class SignOnLinks {
  readonly #deps: { key: Buffer; clock: Clock; baseUrl: string };

  constructor(deps: { key: Buffer; clock: Clock; baseUrl: string }) {
    this.#deps = deps;
  }

  addressOf({ token, organization }: SignOnRequest, organizationName: string): string {
    const untilMs = this.#nowMs() + limits.hubSignOnLinkMs;
    const text = [token, organization, untilMs].join('.');
    const request = `${text}.${this.#sign(text).toString('base64url')}`;
    return `${this.#deps.baseUrl}/orgs/${organizationName}/sso?authorization_request=${request}`;
  }

  /** Undefined for what was not made here, and for what is older than an hour. */
  read(request: string): SignOnRequest | undefined {
    const [, text = '', token, organization, untilMs, signature = ''] =
      /^((\d{1,15})\.(\d{1,15})\.(\d{1,15}))\.([\w-]{43})$/.exec(request) ?? [];
    const shown = Buffer.from(signature, 'base64url');
    const isOurs = shown.length === 32 && timingSafeEqual(shown, this.#sign(text));
    return isOurs && Number(untilMs) > this.#nowMs()
      ? { token: Number(token), organization: Number(organization) }
      : undefined;
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#deps.key).update(`sign-on ${text}`).digest();
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}
