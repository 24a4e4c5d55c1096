import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { clearBridge, ensureBridge, findLink, addedAddresses } from './bridge.ts';
import type { BridgeSettings } from './bridge.ts';
import type { LinkRemover } from './link-remover.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { getLink, readLink } from '../netlink/links.ts';

/** Kinds of links that networks are made of on the host. */
const MADE_HERE: ReadonlySet<string> = new Set(['bridge', 'dummy', 'vlan']);

/**
 * The instance's bridges. One that was made here for a network carries `<instance>:<network id>` as its alias; a bridge
 * without it has another owner and is never deleted.
 */
export class Bridges {
  readonly #host: NetlinkSocket;
  readonly #instance: string;
  readonly #remover: LinkRemover;
  readonly #log: Logger;

  constructor(deps: { host: NetlinkSocket; instance: string; remover: LinkRemover; log: Logger }) {
    this.#host = deps.host;
    this.#instance = deps.instance;
    this.#remover = deps.remover;
    this.#log = deps.log;
  }

  /** Its index. A bridge that was deleted or taken down since the last time is made whole first. */
  index(bridge: BridgeSettings, mended: (index: number) => void): number {
    const link = findLink(this.#host, bridge.name);
    if (link?.up === true) {
      return link.index;
    }
    const index = this.ensure(bridge);
    mended(index);
    return index;
  }

  /** Makes or mends it; returns its index. */
  ensure(bridge: BridgeSettings): number {
    failpoint('network.prepare.bridge');
    const alias = bridge.networkId === undefined ? undefined : this.#alias(bridge.networkId);
    return ensureBridge(this.#host, bridge, alias, this.#log).index;
  }

  /** The subnets are free at once, the interface is gone when the promise resolves. Idempotent. */
  async remove(bridge: BridgeSettings): Promise<void> {
    const link = findLink(this.#host, bridge.name);
    if (link === undefined) {
      return;
    }
    failpoint('network.remove.link');
    const isOurs =
      bridge.networkId === undefined
        ? bridge.isForeign !== true && link.kind === 'bridge'
        : link.alias === this.#alias(bridge.networkId);
    clearBridge(this.#host, link, isOurs ? undefined : addedAddresses(bridge));
    if (isOurs) {
      await this.#remover.removeNow(bridge.name);
    }
  }

  /** Removes the bridges, and the parents of macvlans and ipvlans, of networks that are not among these. */
  async sweep(networkIds: readonly string[]): Promise<void> {
    const known = new Set(networkIds.map((id) => this.#alias(id)));
    const orphans = this.#host
      .dump('interfaces', getLink())
      .map(readLink)
      .filter(({ kind, alias }) => MADE_HERE.has(kind) && alias.startsWith(this.#alias('')))
      .filter(({ alias }) => !known.has(alias));
    for (const link of orphans) {
      failpoint('network.restore.bridge');
      clearBridge(this.#host, link);
      await this.#remover.removeNow(link.name);
      this.#log.info({ bridge: link.name }, 'orphaned link of a network removed');
    }
  }

  #alias(networkId: string): string {
    return `${this.#instance}:${networkId}`;
  }
}
