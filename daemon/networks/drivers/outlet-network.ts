import type { NetworkCreateRequest } from '../../../api/types/system.ts';
import { OUTLET } from '../sandbox/outlet.ts';

/** What the network is made with where no user has made it: its containers do not reach each other through it. */
const OPTIONS = {
  'com.docker.network.bridge.enable_icc': 'false',
  'com.docker.network.bridge.enable_ip_masquerade': 'true',
};
const NAME_OPTION = 'com.docker.network.bridge.name';

interface Deps {
  has: (name: string) => boolean;
  create: (request: NetworkCreateRequest) => Promise<unknown>;
  /** A link of the host has this name: maybe that of another engine. */
  isTaken: (link: string) => boolean;
}

/** Makes the outlet when a container first needs it. */
export class OutletNetwork {
  readonly #deps: Deps;
  #making: Promise<void> | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Idempotent. Throws what creating a network throws. */
  async ensure(): Promise<void> {
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    await this.#making;
  }

  async #make(): Promise<void> {
    if (this.#deps.has(OUTLET)) {
      return;
    }
    await this.#deps.create({
      Name: OUTLET,
      Driver: 'bridge',
      Options: { ...OPTIONS, ...(this.#deps.isTaken(OUTLET) ? {} : { [NAME_OPTION]: OUTLET }) },
    });
  }
}
