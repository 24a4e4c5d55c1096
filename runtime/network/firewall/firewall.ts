import { readFileSync } from 'node:fs';
import { internal } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import { NftContext } from '../../../daemon/base/kernel/sockets/nftables.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { BridgeSettings } from '../links/bridge.ts';
import { readListing } from './listing.ts';
import type { Listing } from './listing.ts';
import {
  FAMILIES,
  MESH_SETS,
  bridgeCommands,
  elementKey,
  expectedElements,
  familyOf,
  meshChangeCommands,
  portCommands,
  rebuildCommands,
} from './ruleset.ts';
import type { MeshEntry, PublishedPort } from './ruleset.ts';

/**
 * The instance's own nftables tables. Remembers what is in them, so that a table that another program flushed or
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
  /** Undefined = not told yet: what an earlier daemon left works on. */
  #mesh: MeshEntry | undefined;
  readonly #generation: () => number;
  /** Of all tables of the host, when they were last found whole. */
  #seen = 0;
  /** As nft lists them unchanged, by family. */
  readonly #rules = new Map<string, string>();
  #isBuilt = false;
  /** The IPv6 table is made when first needed: a host may have no IPv6 at all. */
  #ipv6 = false;

  /** `generation` tells how often the host's tables have changed. */
  constructor(deps: { table: string; log: Logger; generation: () => number }) {
    this.#generation = deps.generation;
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
    this.#ipv6 ||= bridges.some(needsIpv6) || ports.some(({ address }) => !isIpv4(address));
    this.#rebuild();
  }

  /** What comes from, goes to and is between this bridge is filtered from here on. */
  addBridge(bridge: BridgeSettings): void {
    const known = this.#bridges.has(bridge.name);
    this.#bridges.set(bridge.name, bridge);
    try {
      if (known || !this.#isBuilt || (needsIpv6(bridge) && !this.#ipv6)) {
        this.#ipv6 ||= needsIpv6(bridge);
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

  /** From here on exactly these ports lead this way into the swarm's ingress network. */
  setMesh(mesh: MeshEntry): void {
    const before = this.#mesh;
    this.#mesh = mesh;
    const hasIpv6 = mesh.way?.addresses.some((address) => !isIpv4(address)) === true;
    const isLeft = before === undefined && this.#isBuilt && this.#nft.run(`list table ip6 ${this.#table}`).ok;
    try {
      if ((hasIpv6 || isLeft) && !this.#ipv6) {
        this.#ipv6 = true;
        this.#rebuild();
      } else if (!this.#isBuilt && mesh.way !== undefined) {
        this.#rebuild();
      } else if (this.#isBuilt) {
        const commands = meshChangeCommands(this.#table, before, mesh, this.#families).trim();
        if (commands !== '') {
          this.#change(commands);
        }
      }
    } catch (error) {
      this.#mesh = before;
      throw error;
    }
  }

  /** Makes the tables whole again when another program has changed or deleted them. Nearly free otherwise. */
  mend(): void {
    const generation = this.#generation();
    if (!this.#isBuilt || generation === this.#seen) {
      return;
    }
    if (this.#isWhole()) {
      // What was changed meanwhile is compared at the next look.
      this.#seen = generation;
      return;
    }
    failpoint('network.firewall.mend');
    this.#log.warn({ table: this.#table }, 'firewall table was changed by others; rebuilding it');
    this.#rebuild();
  }

  #isWhole(): boolean {
    const mesh = this.#mesh;
    const contents = { bridges: [...this.#bridges.values()], ports: [...this.#published.values()], mesh };
    return this.#families.every((family) => {
      const { rules, elements } = this.#read(family);
      if (mesh === undefined) {
        MESH_SETS.forEach((set) => elements.delete(set));
      }
      const expected = expectedElements(family, contents).filter(({ members }) => members.length > 0);
      return (
        rules === this.#rules.get(family) &&
        expected.length === elements.size &&
        expected.every(({ set, members }) => isSameSet(members, elements.get(set) ?? new Set()))
      );
    });
  }

  #read(family: 'ip' | 'ip6'): Listing {
    return readListing(this.#nft.run(`list table ${family} ${this.#table}`).output);
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
    const before = this.#generation();
    const { ok, error } = this.#nft.run(commands);
    if (ok) {
      if (before === this.#seen && this.#generation() === before + 1) {
        this.#seen = before + 1;
      }
      return;
    }
    if (!this.#isBuilt) {
      throw internal(`firewall: change before the table was built: ${error}`);
    }
    // Another program changed our table (`nft flush ruleset`, a firewall service's reload): make it whole
    // again.
    this.#log.warn({ table: this.#table, nft: error }, 'firewall table was changed by others; rebuilding it');
    this.#rebuild();
  }

  #rebuild(): void {
    const commands = rebuildCommands(this.#table, {
      bridges: this.#bridges.values(),
      ports: this.#published.values(),
      mesh: this.#mesh,
      ipv6: this.#ipv6,
    });
    const before = this.#generation();
    const { ok, error } = this.#nft.run(commands);
    if (!ok) {
      throw internal(`firewall: cannot write table ${this.#table}: ${error}`);
    }
    this.#isBuilt = true;
    // What was changed meanwhile is compared at the next look.
    this.#seen = before + 1;
    const listings = this.#families.map((family) => [family, this.#read(family).rules] as const);
    if (this.#generation() === this.#seen) {
      listings.forEach(([family, rules]) => this.#rules.set(family, rules));
    }
  }
}

/** An internal network without IPv6 on a bridge of the administrator that has it is to be no way out either. */
function needsIpv6({ addresses, internal: isInternal, name }: BridgeSettings): boolean {
  return addresses.some(({ address }) => !isIpv4(address)) || (isInternal && speaksIpv6(name));
}

function speaksIpv6(bridge: string): boolean {
  try {
    return readFileSync(`/proc/sys/net/ipv6/conf/${bridge}/disable_ipv6`, 'utf8').trim() === '0';
  } catch {
    // There is no such bridge yet: it will be made without IPv6. Or the kernel has none.
    return false;
  }
}

function isSameSet(members: readonly string[], found: ReadonlySet<string>): boolean {
  return members.length === found.size && members.every((member) => found.has(member));
}

function keyOf(port: PublishedPort): string {
  return `${familyOf(port.address)} ${elementKey(port)}`;
}
