import type { NetworkKeys } from '../../../../api/types/swarm/overlay.ts';
import { parseIp } from '../../../base/addresses/ip.ts';
import { errorText, internal } from '../../../base/errors.ts';
import { isEncrypted } from '../../../base/overlay-options.ts';
import type { NetworkState } from '../network-state.ts';
import type { DataPath } from '../plan.ts';
import type { OverlayKernel } from '../ports.ts';
import { encryptedPaths } from './paths.ts';

/**
 * What protects overlay traffic of this host: which hosts it is taken from, and what is encrypted. It holds for all
 * networks at once, as they share one port. Keys are in memory alone: a daemon that starts while no manager answers
 * leaves those of the kernel in force.
 */
export class Protection {
  readonly #kernel: Pick<OverlayKernel, 'guard' | 'encrypt' | 'stopEncryption'>;
  #keys: NetworkKeys | undefined;
  /** What the kernel was told last; undefined = not known. */
  #guarded: string | undefined;
  #encrypted: string | undefined;
  /** An earlier daemon may have encrypted. */
  #mayEncrypt = true;

  constructor(kernel: Pick<OverlayKernel, 'guard' | 'encrypt' | 'stopEncryption'>) {
    this.#kernel = kernel;
  }

  /** In force with the next `encrypt`. */
  take(keys: NetworkKeys): void {
    this.#keys = keys;
  }

  /** Before the devices of these networks, which are all that there are. Costs nothing where all is as it was. */
  guard(states: readonly NetworkState[], { addr, port }: DataPath): void {
    const local = parseIp(addr);
    const text = `${addr} ${port} ${states.map(({ network, nodesText }) => `${network.vni} ${nodesText}`).join(';')}`;
    if (text === this.#guarded || (local === undefined && states.length > 0)) {
      return;
    }
    this.#guarded = undefined;
    const networks = states.map(({ network: { vni, options }, nodes }) => ({
      vni,
      encrypted: isEncrypted(options),
      hosts: [...new Set(nodes.flatMap((node) => parseIp(node.addr) ?? []))],
    }));
    this.#kernel.guard(local === undefined || networks.length === 0 ? undefined : { local, port, networks });
    this.#guarded = text;
  }

  /**
   * Between the guard and the devices; `states`: all networks. With `look` the kernel is compared even where nothing is
   * new. Answers how many of its entries had been changed by others. Throws why this node cannot encrypt.
   */
  encrypt(states: readonly NetworkState[], { addr, port }: DataPath, look = false): number {
    const local = parseIp(addr);
    const own = states.filter(({ network }) => isEncrypted(network.options));
    const keys = own.length === 0 ? undefined : JSON.stringify(this.#keys ?? null);
    const text = [addr, port, keys, ...own.map(({ nodesText }) => nodesText)].join(';');
    const isKnown = text === this.#encrypted;
    if (local === undefined || own.length === 0 || (isKnown && !look)) {
      return 0;
    }
    const known = this.#keys;
    this.#encrypted = undefined;
    this.#mayEncrypt = true;
    const paths =
      known &&
      encryptedPaths(
        known,
        local,
        own.flatMap(({ nodes }) => nodes),
      );
    const changed = this.#kernel.encrypt({ local, port, paths });
    this.#encrypted = text;
    return isKnown ? changed : 0;
  }

  /** After the devices of networks that are gone: `states` are those that are left. */
  settle(states: readonly NetworkState[], dataPath: DataPath): void {
    if (states.every(({ network }) => !isEncrypted(network.options))) {
      this.#stop(states.length > 0);
    } else {
      this.encrypt(states, dataPath);
    }
    this.guard(states, dataPath);
  }

  /** What no network of this host needs is not kept. Where there is none at all, the guard's end is that of all. */
  #stop(hasNetworks: boolean): void {
    this.#keys = undefined;
    this.#encrypted = undefined;
    if (hasNetworks && this.#mayEncrypt) {
      this.#kernel.stopEncryption();
      this.#mayEncrypt = false;
    }
  }
}

/** Why a network is not in force that is to be encrypted. */
export function whyNotEncrypted(name: string, error: unknown): Error {
  return internal(`network ${name}: option "encrypted": ${errorText(error)}`, { cause: error });
}
