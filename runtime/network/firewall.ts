import { internal } from '../../daemon/base/errors.ts';
import { NftContext } from '../../daemon/base/kernel/nftables.ts';
import type { Logger } from '../../daemon/base/log.ts';
import type { BridgeSettings } from './bridge.ts';
import { addCommands, deleteCommands, elementKey, rebuildCommands } from './ruleset.ts';
import type { PublishedPort } from './ruleset.ts';

/**
 * The instance's own nftables table. Remembers what is published, so that a table that somebody flushed or
 * deleted is rebuilt as a whole at the next change.
 *
 * INVARIANTS
 * - Only this table is ever written. What other tables drop stays dropped.
 * - Every change is one transaction: there is no moment with half of the rules.
 */
export class Firewall {
  readonly #table: string;
  readonly #log: Logger;
  readonly #nft = new NftContext();
  readonly #published = new Map<string, PublishedPort>();
  #bridge: BridgeSettings | undefined;

  constructor(deps: { table: string; log: Logger }) {
    this.#table = deps.table;
    this.#log = deps.log;
  }

  /** Makes the table and exactly these published ports. */
  rebuild(bridge: BridgeSettings, ports: readonly PublishedPort[]): void {
    this.#bridge = bridge;
    this.#published.clear();
    for (const port of ports) {
      this.#published.set(elementKey(port), port);
    }
    this.#rebuild(bridge);
  }

  /** About 0.05 ms; the number of elements already there does not matter. */
  publish(ports: readonly PublishedPort[]): void {
    if (ports.length === 0) {
      return;
    }
    for (const port of ports) {
      this.#published.set(elementKey(port), port);
    }
    try {
      this.#change(addCommands(this.#table, ports));
    } catch (error) {
      this.#forget(ports);
      throw error;
    }
  }

  /** Those that are not published are no error. */
  unpublish(ports: readonly PublishedPort[]): void {
    const known = ports.filter((port) => this.#published.has(elementKey(port)));
    if (known.length === 0) {
      return;
    }
    this.#forget(known);
    this.#change(deleteCommands(this.#table, known));
  }

  #forget(ports: readonly PublishedPort[]): void {
    for (const port of ports) {
      this.#published.delete(elementKey(port));
    }
  }

  #change(commands: string): void {
    const { ok, error } = this.#nft.run(commands);
    if (ok) {
      return;
    }
    if (this.#bridge === undefined) {
      throw internal(`firewall: change before the table was built: ${error}`);
    }
    // Somebody else changed our table (`nft flush ruleset`, a firewall service's reload): make it whole
    // again.
    this.#log.warn({ table: this.#table, nft: error }, 'firewall table was changed by others; rebuilding it');
    this.#rebuild(this.#bridge);
  }

  #rebuild(bridge: BridgeSettings): void {
    const { ok, error } = this.#nft.run(rebuildCommands(this.#table, bridge, this.#published.values()));
    if (!ok) {
      throw internal(`firewall: cannot write table ip ${this.#table}: ${error}`);
    }
  }
}
