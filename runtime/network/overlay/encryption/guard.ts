import { internal } from '../../../../daemon/base/errors.ts';
import { failpoint } from '../../../../daemon/base/failpoint.ts';
import { NftContext } from '../../../../daemon/base/kernel/sockets/nftables.ts';
import type { Logger } from '../../../../daemon/base/logger.ts';
import { readListing } from '../../firewall/listing.ts';
import type { OverlayGuard } from '../settings.ts';
import { changeGuard, familyOf, guardElements, rebuildGuard } from './guard-rules.ts';
import type { Family, GuardElements } from './guard-rules.ts';

const FAMILIES = ['ip', 'ip6'] as const;

interface Built {
  guard: OverlayGuard;
  family: Family;
  elements: GuardElements;
  /** As nft lists the table without its elements. */
  rules: string;
}

/**
 * The table of nftables in the host's namespace that lets VXLAN of our networks in from their hosts alone, and that of
 * encrypted networks neither in nor out but as ESP. It stays when the daemon ends.
 */
export class Guard {
  readonly #table: string;
  readonly #generation: () => number;
  readonly #log: Logger;
  readonly #nft = new NftContext();
  #built: Built | undefined;
  /** Of the table that an earlier daemon left; undefined = not looked at. */
  #left: { isThere: boolean; encrypts: boolean } | undefined;
  /** How often the host's tables had changed when this one was last found whole. */
  #seen = 0;

  /** `generation` tells how often the host's tables have changed. */
  constructor(deps: { table: string; generation: () => number; log: Logger }) {
    this.#table = deps.table;
    this.#generation = deps.generation;
    this.#log = deps.log;
  }

  /** Exactly these networks from now on; none: there is no table. In one transaction. */
  set(guard: OverlayGuard | undefined): void {
    this.#earlier();
    if (guard === undefined) {
      this.#remove();
      return;
    }
    const family = familyOf(guard);
    const before = this.#built;
    if (before?.family === family && before.guard.port === guard.port) {
      this.#change(before, guard);
    } else {
      this.#rebuild(guard);
      this.#drop(family === 'ip' ? 'ip6' : 'ip');
    }
  }

  /** Whether there is a table, of this daemon or of an earlier one. */
  isThere(): boolean {
    return this.#built !== undefined || this.#earlier().isThere;
  }

  /** Whether an earlier daemon had encrypted networks on this host. */
  didEncrypt(): boolean {
    return this.#earlier().encrypts;
  }

  /** Makes the table whole again where another program changed it. Nearly free otherwise. */
  mend(): void {
    if (this.#built === undefined || this.#generation() === this.#seen) {
      return;
    }
    const { family, guard } = this.#built;
    const generation = this.#generation();
    if (!this.#isWhole(this.#built)) {
      failpoint('overlay.guard.mend');
      this.#log.warn(
        { table: this.#table, family },
        'the guard of overlay networks was changed by others; rebuilding it',
      );
      this.#rebuild(guard);
    } else {
      // What was changed meanwhile is compared at the next look.
      this.#seen = generation;
    }
  }

  #change(before: Built, guard: OverlayGuard): void {
    const elements = guardElements(guard);
    const commands = changeGuard(this.#table, before.family, before.elements, elements);
    if (commands === '') {
      return;
    }
    failpoint('overlay.guard.change');
    const generation = this.#generation();
    if (!this.#nft.run(commands).ok) {
      // Another program changed the table.
      this.#rebuild(guard);
      return;
    }
    this.#built = { ...before, guard, elements };
    if (generation === this.#seen && this.#generation() === generation + 1) {
      this.#seen = generation + 1;
    }
  }

  #rebuild(guard: OverlayGuard): void {
    failpoint('overlay.guard.rebuild');
    const generation = this.#generation();
    const { ok, error } = this.#nft.run(rebuildGuard(this.#table, guard));
    if (!ok) {
      throw internal(`the guard of overlay networks could not be written: ${error}`);
    }
    this.#seen = generation + 1;
    const family = familyOf(guard);
    this.#built = { guard, family, elements: guardElements(guard), rules: this.#read(family).rules };
  }

  #remove(): void {
    failpoint('overlay.guard.remove');
    this.#built = undefined;
    this.#left = undefined;
    FAMILIES.forEach((family) => this.#drop(family));
  }

  /** One that is not there, or of a family that the kernel lacks, is no error. */
  #drop(family: Family): void {
    if (this.#nft.run(`list table ${family} ${this.#table}`).ok) {
      const { ok, error } = this.#nft.run(`delete table ${family} ${this.#table}`);
      if (!ok) {
        throw internal(`the guard of overlay networks could not be removed: ${error}`);
      }
    }
  }

  #earlier(): { isThere: boolean; encrypts: boolean } {
    if (this.#left === undefined) {
      const listings = FAMILIES.map((family) => this.#nft.run(`list table ${family} ${this.#table}`)).filter(
        ({ ok }) => ok,
      );
      const encrypts = listings.some(({ output }) => readListing(output).elements.has('encrypted'));
      this.#left = { isThere: listings.length > 0, encrypts };
    }
    return this.#left;
  }

  #isWhole({ family, rules, elements }: Built): boolean {
    const found = this.#read(family);
    const wanted = Object.entries(elements).filter(([, members]) => members.length > 0);
    return (
      found.rules === rules &&
      found.elements.size === wanted.length &&
      wanted.every(([set, members]) => isSame(members, found.elements.get(set)))
    );
  }

  #read(family: Family): ReturnType<typeof readListing> {
    return readListing(this.#nft.run(`list table ${family} ${this.#table}`).output);
  }
}

/** Versions of nft list a number as hexadecimal or decimal. */
function isSame(members: readonly string[], found: ReadonlySet<string> | undefined): boolean {
  const listed = new Set([...(found ?? [])].map(canonical));
  return members.length === listed.size && members.every((member) => listed.has(canonical(member)));
}

function canonical(member: string): string {
  return member.replace(/\w+$/, (vni) => String(Number(vni)));
}
