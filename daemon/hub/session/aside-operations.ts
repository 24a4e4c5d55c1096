import type { AsideRestored, AsideRow, HubAsidePort } from '../../../api/types/hub/aside.ts';
import type { Caller } from '../identity/caller.ts';
import { listAside, restoreAside } from '../aside/restore.ts';
import { rootOnly } from './refusals.ts';
import type { SessionDeps } from './session-deps.ts';

/** Records of a hub that had this host before, for root. */
export class AsideOperations implements HubAsidePort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  list(): AsideRow[] {
    rootOnly(this.#caller);
    return listAside(this.#deps.aside());
  }

  async restore(source: string): Promise<AsideRestored> {
    rootOnly(this.#caller);
    const { mirror, aside } = this.#deps;
    const { accounts, repositories, applications, apps, left } = await restoreAside(mirror, aside(), source);
    return { accounts, repositories, oauth_applications: applications, apps, left };
  }
}
