import type { NetworkKeys } from '../../../api/types/swarm/overlay.ts';
import { errorText, internal } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { isEncrypted } from '../../base/overlay-options.ts';
import { Protection, whyNotEncrypted } from './encryption/protection.ts';
import type { KnownNetwork } from './known-network.ts';
import type { IngressChange } from './mesh/ingress-ports.ts';
import type { Mesh } from './mesh/mesh.ts';
import { wholeOf } from './network-state.ts';
import type { NetworkPart, NetworkState } from './network-state.ts';
import { ingressSettings, kernelTarget, overlaySettings } from './plan.ts';
import type { DataPath, KernelSteps } from './plan.ts';
import type { OverlayKernel } from './ports.ts';
import { leadElsewhere } from './reach/lead-elsewhere.ts';
import type { Retries } from './retries.ts';
import type { SwarmEntries } from './swarm-entries.ts';

export interface KernelNetworksDeps {
  kernel: Omit<OverlayKernel, 'mesh'>;
  /** The networks of this host. */
  entries: Pick<SwarmEntries, 'enter' | 'leave'>;
  mesh: Pick<Mesh, 'apply' | 'reconsider'>;
  log: Logger;
  retries: Retries;
  /** All that are known. */
  states: () => NetworkState[];
  dataPath: () => DataPath;
}

/** Brings networks of the swarm into the kernel. What fails of one is its `trouble`, and is tried again. */
export class KernelNetworks {
  readonly #deps: KernelNetworksDeps;
  readonly #protection: Protection;
  #repairs = 0;

  constructor(deps: KernelNetworksDeps) {
    this.#deps = deps;
    this.#protection = new Protection(deps.kernel);
  }

  /** Entries that were not as they had been made, and have been mended. */
  get repairs(): number {
    return this.#repairs;
  }

  /** From now on encrypted networks have these keys. */
  takeKeys(keys: NetworkKeys): void {
    this.#protection.take(keys);
  }

  /** The whole network, whatever the kernel has of it. */
  make(known: KnownNetwork): void {
    this.#attempt(known, () => {
      this.#mend(known);
      this.#finish(known, { full: true, ...wholeOf(known.state) });
    });
  }

  /** What has changed of a network that the kernel has. */
  change(
    known: KnownNetwork,
    { peers, balance }: KernelSteps,
    change: { full: boolean } & NetworkPart,
  ): void {
    const { kernel } = this.#deps;
    const { id } = known.state.network;
    this.#attempt(known, () => {
      this.#protect(known);
      if (peers.add.length > 0 || peers.remove.length > 0) {
        kernel.changePeers(id, peers);
      }
      if (balance.changed.length > 0 || balance.gone.length > 0) {
        kernel.balance(id, balance.changed, balance.gone);
        refuseUnbalanced(known, balance.changed);
      }
      this.#finish(known, change);
    });
  }

  /** What other programs have changed is made again. */
  repair(known: KnownNetwork): void {
    this.#attempt(known, () => {
      const wrong = this.#mend(known);
      if (wrong > 0) {
        this.#repairs += wrong;
        this.#deps.log.warn(
          { network: known.state.network.id, wrong },
          'entries of a network had been changed',
        );
      }
      this.#finish(known, { full: true, ...wholeOf(known.state) });
    });
  }

  /** Hosts are silent now or answer again. One that is not whole is made with what is reached by then. */
  hear(known: KnownNetwork, hosts: ReadonlySet<string>): void {
    if (known.isWhole) {
      this.#attempt(known, () => leadElsewhere(this.#deps, known.state, hosts));
    }
  }

  /** After networks have gone, or keys have come. What fails is done with the next change, or the next look. */
  settle(): void {
    const { log, states, dataPath } = this.#deps;
    try {
      this.#protection.settle(states(), dataPath());
    } catch (error) {
      log.error({ err: errorText(error) }, 'the protection of overlay networks is not up to date');
    }
  }

  /** Answers how many entries were wrong. */
  #mend(known: KnownNetwork): number {
    const { state, names } = known;
    const { kernel, entries, dataPath } = this.#deps;
    const { network } = state;
    entries.enter(network, names);
    const repaired = this.#protect(known, true);
    known.canBalance = true;
    if (network.ingress) {
      kernel.openIngress(ingressSettings(network, dataPath()));
    } else {
      known.canBalance = kernel.openOverlay(overlaySettings(network, dataPath())) === 'bridge';
    }
    const { peers, balance } = kernelTarget(state, dataPath());
    const wrong = kernel.mendPeers(network.id, peers) + kernel.mendBalance(network.id, balance);
    refuseUnbalanced(known, balance);
    return wrong + repaired;
  }

  /**
   * Before anything of the network: at no moment it lets through what it must not. Answers how many entries were wrong.
   */
  #protect({ state: { network } }: KnownNetwork, look = false): number {
    const [states, dataPath] = [this.#deps.states(), this.#deps.dataPath()];
    this.#protection.guard(states, dataPath);
    if (!isEncrypted(network.options)) {
      return 0;
    }
    try {
      return this.#protection.encrypt(states, dataPath, look);
    } catch (error) {
      throw whyNotEncrypted(network.name, error);
    }
  }

  /** What comes last: new connections go elsewhere by now. */
  #finish({ state, forget }: KnownNetwork, change: Omit<IngressChange, 'local'>): void {
    const { kernel, mesh, dataPath } = this.#deps;
    if (state.network.ingress) {
      mesh.apply({ ...change, local: dataPath().addr });
    }
    for (const address of forget) {
      kernel.forgetBackend(state.network.id, address);
      forget.delete(address);
    }
  }

  #attempt(known: KnownNetwork, steps: () => void): void {
    const { log, retries } = this.#deps;
    const { id, name } = known.state.network;
    try {
      steps();
    } catch (error) {
      const trouble = errorText(error);
      if (trouble !== known.trouble) {
        log.error({ network: id, name, err: trouble }, 'a network of the swarm is not in force here');
      }
      Object.assign(known, { isWhole: false, trouble });
      retries.failed(id);
      return;
    }
    Object.assign(known, { isWhole: true, trouble: undefined });
    retries.settled(id);
  }
}

/** Names and containers' own addresses work all the same. */
function refuseUnbalanced(
  { state: { network }, canBalance }: KnownNetwork,
  addresses: readonly unknown[],
): void {
  if (!canBalance && addresses.length > 0) {
    throw internal(
      `network ${network.name}: virtual addresses of services need br_netfilter, which the kernel of this node ` +
        'does not have (endpoint mode dnsrr does without)',
    );
  }
}
