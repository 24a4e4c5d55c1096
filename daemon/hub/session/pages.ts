import { createHmac } from 'node:crypto';
import type {
  HubPagesPort,
  PageHooks,
  PageImages,
  PageVisit,
  SignedIn,
  SignInRequest,
} from '../../../api/types/hub/pages.ts';
import type { HubSession } from '../../../api/types/hub/ports.ts';
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Caller } from '../identity/caller.ts';
import type { SignIns } from '../identity/sign-in/sign-ins.ts';

export interface PagesDeps {
  signIns: SignIns;
  clock: Clock;
  /** By which forms are marked. */
  key: Buffer;
  session: (caller: Caller) => HubSession;
  images: (caller: Caller) => PageImages;
}

/** Visits of the hub's pages. */
export class Pages implements HubPagesPort {
  readonly #deps: PagesDeps;

  constructor(deps: PagesDeps) {
    this.#deps = deps;
  }

  visit(secret: string | undefined, address: string): PageVisit {
    const { signIns, session: open, images } = this.#deps;
    const user = secret === undefined ? undefined : signIns.find(secret);
    const caller: Caller = user === undefined ? { kind: 'anonymous', address } : { kind: 'page', user };
    const session = open(caller);
    return {
      login: user?.name,
      session,
      images: images(caller),
      hooks: hooksOf(session),
      renew: () => (secret === undefined ? Promise.resolve(undefined) : this.#renew(secret)),
    };
  }

  async signIn(request: SignInRequest): Promise<SignedIn> {
    const secret = await this.#deps.signIns.signIn(request);
    return { secret, lifetimeS: limits.hubSignInMs / 1000 };
  }

  async signOut(secret: string): Promise<void> {
    await this.#deps.signIns.signOut(secret);
  }

  markOf(visitor: string): string {
    return createHmac('sha256', this.#deps.key).update(`form ${visitor}`).digest('base64url');
  }

  async #renew(secret: string): Promise<SignedIn | undefined> {
    const fresh = await this.#deps.signIns.renew(secret);
    const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
    return (
      fresh && {
        secret: fresh.secret,
        lifetimeS: Math.max(1, Math.round((fresh.expiresMs - nowMs) / 1000)),
      }
    );
  }
}

/** The newest deliveries that one page shows. */
const DELIVERIES = 30;

function hooksOf({ hooks, deliveries }: HubSession): PageHooks {
  return {
    list: (owner, name) => hooks.list(owner, name),
    get: (owner, name, hook) => hooks.get(owner, name, hook),
    deliveries: (owner, name, hook) =>
      deliveries.list(owner, name, hook, { perPage: DELIVERIES, cursor: undefined, status: undefined }).items,
    delivery: (owner, name, hook, delivery) => deliveries.get(owner, name, hook, delivery),
    redeliver: (owner, name, hook, delivery) => deliveries.redeliver(owner, name, hook, delivery),
  };
}
