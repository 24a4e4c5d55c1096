import type { SandboxInterface, ParentSettings, Attachment } from '../../../runtime/network/attachment.ts';
import type { NetworkDriver } from './driver.ts';
import { EngineError } from '../../base/errors.ts';
import { isParentKind, parentOptions } from './parent-options.ts';
import type { ParentKind } from './parent-options.ts';
import type { Network, NetworkSpec } from '../network.ts';
import type { NetworkKernel } from '../ports.ts';

/**
 * Networks in which containers stand in the host's own network: each with a MAC of its own (`macvlan`), or all with
 * that of the host's link (`ipvlan`).
 */
export class ParentDriver implements NetworkDriver {
  readonly name: ParentKind;
  readonly scope = 'local';
  /** They are reached by their own addresses; the host itself cannot reach them at all. */
  readonly publishesPorts = false;
  readonly #kernel: Pick<NetworkKernel, 'addParent' | 'removeParent'>;

  constructor(kind: ParentKind, deps: { kernel: Pick<NetworkKernel, 'addParent' | 'removeParent'> }) {
    this.name = kind;
    this.#kernel = deps.kernel;
  }

  accept(spec: NetworkSpec, others: readonly Network[]): NetworkSpec {
    const { parent } = parentOptions(this.name, spec.options);
    // The kernel, too, has a link be the parent of one kind only.
    const rival = others.find(
      ({ driver, spec: { options } }) =>
        isParentKind(driver) && parent !== undefined && options['parent'] === parent,
    );
    if (rival !== undefined) {
      throw new EngineError('forbidden', `network ${rival.name} is already using parent interface ${parent}`);
    }
    // Without a parent there is no default route.
    return { ...spec, internal: spec.internal || parent === undefined };
  }

  survey(spec: NetworkSpec): NetworkSpec {
    return spec;
  }

  async create(network: Network): Promise<void> {
    this.#kernel.addParent(this.#parentOf(network));
  }

  remove(network: Network): Promise<void> {
    return this.#kernel.removeParent(this.#parentOf(network));
  }

  attachment(network: Network, iface: SandboxInterface): Attachment {
    return { parent: this.#parentOf(network), iface };
  }

  mtu(network: Network): number {
    return parentOptions(this.name, network.spec.options).mtu;
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

  /** An internal network has a parent that leads nowhere, also when it names one. */
  #parentOf({ id, spec }: Network): ParentSettings {
    const { parent, link } = parentOptions(this.name, spec.options);
    if (parent === undefined || spec.internal) {
      const prefix = this.name === 'macvlan' ? 'dm' : 'di';
      return { name: `${prefix}-${id.slice(0, 12)}`, networkId: id, make: 'dummy', link };
    }
    const [, of, vlan] = /^(.+)\.(\d{1,4})$/.exec(parent) ?? [];
    const make = of === undefined ? 'host' : { vlan: Number(vlan), of };
    return { name: parent, networkId: id, make, link };
  }
}
