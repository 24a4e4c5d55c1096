import type { NetworkDriver } from './driver.ts';
import { EngineError } from '../base/errors.ts';
import { macvlanOptions } from './macvlan-options.ts';
import type { Network, NetworkSpec } from './network.ts';
import type { Attachment, NetworkKernel, ParentSettings, SandboxInterface } from './ports.ts';

/** Networks in which containers stand in the host's own network, each with a MAC of its own. */
export class MacvlanDriver implements NetworkDriver {
  readonly name = 'macvlan';
  readonly scope = 'local';
  /** They are reached by their own addresses; the host itself cannot reach them at all. */
  readonly publishesPorts = false;
  readonly #kernel: Pick<NetworkKernel, 'addParent' | 'removeParent'>;

  constructor(deps: { kernel: Pick<NetworkKernel, 'addParent' | 'removeParent'> }) {
    this.#kernel = deps.kernel;
  }

  accept(spec: NetworkSpec, others: readonly Network[]): NetworkSpec {
    const { parent } = macvlanOptions(spec.options);
    const rival = others.find(
      ({ driver, spec: { options } }) =>
        driver === this.name && parent !== undefined && options['parent'] === parent,
    );
    if (rival !== undefined) {
      throw new EngineError('forbidden', `network ${rival.name} is already using parent interface ${parent}`);
    }
    // Without a parent there is no way out.
    return { ...spec, internal: spec.internal || parent === undefined };
  }

  async create(network: Network): Promise<void> {
    this.#kernel.addParent(parentOf(network));
  }

  remove(network: Network): Promise<void> {
    return this.#kernel.removeParent(parentOf(network));
  }

  attachment(network: Network, iface: SandboxInterface): Attachment {
    return { parent: parentOf(network), iface };
  }

  mtu(network: Network): number {
    return macvlanOptions(network.spec.options).mtu;
  }

  bindingAddress(): undefined {
    // No port is published.
  }

  interfacePrefix(): string {
    return 'eth';
  }

  hostLinks(): string[] {
    return [];
  }
}

/** An internal network has a parent that leads nowhere, whatever it names. */
function parentOf({ id, spec }: Network): ParentSettings {
  const { parent, mode } = macvlanOptions(spec.options);
  if (parent === undefined || spec.internal) {
    return { name: `dm-${id.slice(0, 12)}`, networkId: id, make: 'dummy', mode };
  }
  const [, of, vlan] = /^(.+)\.(\d{1,4})$/.exec(parent) ?? [];
  const make = of === undefined ? 'host' : { vlan: Number(vlan), of };
  return { name: parent, networkId: id, make, mode };
}
