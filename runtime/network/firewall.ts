import { internal } from '../../daemon/base/errors.ts';
import { isIpv4 } from '../../daemon/base/ip.ts';
import { NftContext } from '../../daemon/base/kernel/nftables.ts';
import type { Logger } from '../../daemon/base/log.ts';
import type { BridgeSettings } from './bridge.ts';
import { FAMILIES, bridgeCommands, elementKey, familyOf, portCommands, rebuildCommands } from './ruleset.ts';
import type { PublishedPort } from './ruleset.ts';

/**
 * The instance's own nftables tables. Remembers what is in them, so that a table that somebody flushed or
 * deleted is rebuilt as a whole at the next change.
 *
 * INVARIANTS
 * - Only tables of this instance's name are ever written. What other tables drop stays dropped.
 * - Every change is one transaction: there is no moment with half of the rules.
 */
export class Firewall {
  readonly #table: string;
  readonly #log: Logger;
  readonly #nft = new NftContext();
  readonly #published = new Map<string, PublishedPort>();
  readonly #bridges = new Map<string, BridgeSettings>();
  #isBuilt = false;
  /** The IPv6 table is made when first needed: a host may have no IPv6 at all. */
  #ipv6 = false;

  constructor(deps: { table: string; log: Logger }) {
    this.#table = deps.table;
    this.#log = deps.log;
  }

  /** Makes the tables with exactly these bridges and published ports. */
  rebuild(bridges: readonly BridgeSettings[], ports: readonly PublishedPort[]): void {
    this.#bridges.clear();
    this.#published.clear();
    for (const bridge of bridges) {
      this.#bridges.set(bridge.name, bridge);
    }
    for (const port of ports) {
      this.#published.set(keyOf(port), port);
    }
    this.#ipv6 ||= bridges.some(hasIpv6) || ports.some(({ address }) => !isIpv4(address));
    this.#rebuild();
  }

  /** What comes from, goes to and is between this bridge is filtered from here on. */
  addBridge(bridge: BridgeSettings): void {
    const known = this.#bridges.has(bridge.name);
    this.#bridges.set(bridge.name, bridge);
    try {
      if (known || !this.#isBuilt || (hasIpv6(bridge) && !this.#ipv6)) {
        this.#ipv6 ||= hasIpv6(bridge);
        this.#rebuild();
      } else {
        this.#change(bridgeCommands('add', this.#table, bridge, this.#families));
      }
    } catch (error) {
      this.#bridges.delete(bridge.name);
      throw error;
    }
  }

  /** One that is not known is no error. */
  removeBridge(name: string): void {
    const bridge = this.#bridges.get(name);
    if (bridge !== undefined) {
      this.#bridges.delete(name);
      this.#change(bridgeCommands('delete', this.#table, bridge, this.#families));
    }
  }

  /** About 0.05 ms; the number of elements already there does not matter. */
  publish(ports: readonly PublishedPort[]): void {
    if (ports.length === 0) {
      return;
    }
    for (const port of ports) {
      this.#published.set(keyOf(port), port);
    }
    try {
      this.#change(portCommands('add', this.#table, ports));
    } catch (error) {
      this.#forget(ports);
      throw error;
    }
  }

  /** Those that are not published are no error. */
  unpublish(ports: readonly PublishedPort[]): void {
    const known = ports.filter((port) => this.#published.has(keyOf(port)));
    if (known.length === 0) {
      return;
    }
    this.#forget(known);
    this.#change(portCommands('delete', this.#table, known));
  }

  get #families(): readonly ('ip' | 'ip6')[] {
    return this.#ipv6 ? FAMILIES : ['ip'];
  }

  #forget(ports: readonly PublishedPort[]): void {
    for (const port of ports) {
      this.#published.delete(keyOf(port));
    }
  }

  #change(commands: string): void {
    const { ok, error } = this.#nft.run(commands);
    if (ok) {
      return;
    }
    if (!this.#isBuilt) {
      throw internal(`firewall: change before the table was built: ${error}`);
    }
    // Somebody else changed our table (`nft flush ruleset`, a firewall service's reload): make it whole
    // again.
    this.#log.warn({ table: this.#table, nft: error }, 'firewall table was changed by others; rebuilding it');
    this.#rebuild();
  }

  #rebuild(): void {
    const commands = rebuildCommands(this.#table, {
      bridges: this.#bridges.values(),
      ports: this.#published.values(),
      ipv6: this.#ipv6,
    });
    const { ok, error } = this.#nft.run(commands);
    if (!ok) {
      throw internal(`firewall: cannot write table ${this.#table}: ${error}`);
    }
    this.#isBuilt = true;
  }
}

function hasIpv6({ addresses }: BridgeSettings): boolean {
  return addresses.some(({ address }) => !isIpv4(address));
}

function keyOf(port: PublishedPort): string {
  return `${familyOf(port.address)} ${elementKey(port)}`;
}
