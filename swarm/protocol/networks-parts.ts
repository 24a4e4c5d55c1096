import type { NetworksChange } from './networks.ts';

/** Puts a change of networks together again that came in several messages. */
export class NetworksParts {
  #parts: NetworksChange[] = [];

  /** The whole once its last part is here; undefined before. */
  take({ more, ...part }: NetworksChange): NetworksChange | undefined {
    this.#parts.push(part);
    if (more === true) {
      return undefined;
    }
    const parts = this.#parts;
    this.#parts = [];
    const { keys } = part;
    return {
      full: part.full,
      dataPath: part.dataPath,
      networks: parts.flatMap(({ networks }) => networks),
      removedNetworks: parts.flatMap(({ removedNetworks }) => removedNetworks),
      endpoints: parts.flatMap(({ endpoints }) => endpoints),
      removedEndpoints: parts.flatMap(({ removedEndpoints }) => removedEndpoints),
      services: parts.flatMap(({ services }) => services),
      removedServices: parts.flatMap(({ removedServices }) => removedServices),
      ...(keys && { keys }),
    };
  }
}
