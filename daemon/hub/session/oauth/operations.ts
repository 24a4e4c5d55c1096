import type { HubOAuthPort } from '../../../../api/types/hub/oauth.ts';
import type { Caller } from '../../identity/caller.ts';
import type { SessionDeps } from '../session-deps.ts';
import { OAuthApplicationOperations } from './applications.ts';
import { ConsentOperations } from './consent.ts';
import { OAuthGrantOperations } from './grants.ts';

/** OAuth applications of organizations, as far as one caller has to do with them (seed 002 A). */
export class OAuthOperations implements HubOAuthPort {
  readonly applications: OAuthApplicationOperations;
  readonly grants: OAuthGrantOperations;
  readonly consent: ConsentOperations;
  readonly #deps: SessionDeps;

  constructor(deps: SessionDeps, caller: Caller) {
    this.applications = new OAuthApplicationOperations(deps, caller);
    this.grants = new OAuthGrantOperations(deps, caller);
    this.consent = new ConsentOperations(deps, caller);
    this.#deps = deps;
  }

  avatar(application: string): { mediaType: string; bytes: Buffer } | undefined {
    const found = this.#deps.oauthApplications.avatar(application);
    return found && { mediaType: found.mediaType, bytes: Buffer.from(found.bytes, 'base64') };
  }
}
