import { errnoOf, errorText } from '../../../daemon/base/errors.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { isRule, readElements, readRules } from '../nftables/dumps.ts';
import type { DumpedElement, DumpedRule } from '../nftables/dumps.ts';
import { getElements, getRules } from '../nftables/messages.ts';
import {
  OWN,
  SPREADS,
  TARGETS,
  chainOf,
  changeRequests,
  rebuildRequests,
  spreadRules,
  targetKey,
  turnsAfter,
} from './spread-rules.ts';
import type { SpreadChange, SpreadForm, Spreads } from './spread-rules.ts';

/** What the kernel has. */
interface Found {
  spreads: readonly DumpedElement[];
  targets: ReadonlyMap<string, string>;
  own: ReadonlySet<string>;
  rules: ReadonlyMap<string, readonly DumpedRule[]>;
}

/**
 * A table of nftables in a namespace that spreads flows. Remembers what is in it; at first, after a restart of the
 * daemon, it reads that from the kernel. A table that another program changed is made anew, in one transaction.
 */
export class SpreadTable {
  readonly #form: SpreadForm;
  readonly #object: string;
  readonly #log: Logger;
  /** undefined = not looked at yet. */
  #known: Map<string, readonly string[]> | undefined;
  /** In how many keys a target is. */
  readonly #uses = new Map<string, number>();

  constructor(deps: { form: SpreadForm; object: string; log: Logger }) {
    this.#form = deps.form;
    this.#object = deps.object;
    this.#log = deps.log;
  }

  /** Makes the table where there is none. Idempotent. */
  open(netfilter: NetlinkSocket): void {
    this.#knownIn(netfilter);
  }

  /** Key -> targets that are wanted, undefined = the key is gone. Answers the targets that a key has lost. */
  change(netfilter: NetlinkSocket, wanted: ReadonlyMap<string, readonly string[] | undefined>): string[] {
    const known = this.#knownIn(netfilter);
    const changes = [...wanted].flatMap(([key, targets]): SpreadChange[] => {
      const before = known.get(key);
      const after = targets === undefined ? undefined : turnsAfter(before ?? [], unique(targets));
      return isSame(before, after) ? [] : [{ key, before, after }];
    });
    if (changes.length === 0) {
      return [];
    }
    const uses = this.#usesAfter(changes);
    const own = {
      add: [...uses].flatMap(([target, count]) => (count > 0 && !this.#uses.has(target) ? [target] : [])),
      remove: [...uses].flatMap(([target, count]) => (count === 0 ? [target] : [])),
    };
    try {
      netfilter.transact(this.#object, changeRequests(this.#form, changes, own));
    } catch (error) {
      this.#log.warn(
        { table: this.#object, err: errorText(error) },
        'table was changed by others; it is made anew',
      );
      const all = new Map(known);
      changes.forEach(({ key, after }) => (after === undefined ? all.delete(key) : all.set(key, after)));
      netfilter.transact(this.#object, rebuildRequests(this.#form, all));
    }
    this.#remember(known, changes, uses);
    return changes.flatMap(({ before, after }) => without(before ?? [], after ?? []));
  }

  /** Makes the table one of exactly these. Answers the keys that were wrong, and the targets that keys have lost. */
  mend(netfilter: NetlinkSocket, wanted: Spreads): { wrong: Set<string>; lost: string[] } {
    const found = this.#look(netfilter);
    const before = found === undefined ? new Map<string, string[]>() : spreadsOf(found);
    const after = new Map(
      [...wanted].map(([key, targets]) => [key, turnsAfter(before.get(key) ?? [], unique(targets))] as const),
    );
    const wrong = found === undefined ? new Set(after.keys()) : wrongKeys(this.#form, found, after);
    if (found === undefined || wrong.size > 0) {
      netfilter.transact(this.#object, rebuildRequests(this.#form, after));
    }
    this.#set(after);
    const lost = [...before].flatMap(([key, targets]) => without(targets, after.get(key) ?? []));
    return { wrong, lost };
  }

  /** That there is a table, in this life of the daemon or from the one before. */
  isThere(netfilter: NetlinkSocket): boolean {
    return this.#known !== undefined || this.#look(netfilter) !== undefined;
  }

  /** Keys, once there is a table. */
  get keys(): string[] {
    return [...(this.#known?.keys() ?? [])];
  }

  #knownIn(netfilter: NetlinkSocket): Map<string, readonly string[]> {
    if (this.#known === undefined) {
      const found = this.#look(netfilter);
      const spreads = found === undefined ? new Map<string, string[]>() : spreadsOf(found);
      if (found === undefined || wrongKeys(this.#form, found, spreads).size > 0) {
        netfilter.transact(this.#object, rebuildRequests(this.#form, spreads));
      }
      this.#set(spreads);
    }
    return this.#known ?? new Map();
  }

  #set(spreads: Spreads): void {
    this.#known = new Map(spreads);
    this.#uses.clear();
    for (const target of [...spreads.values()].flat()) {
      this.#uses.set(target, (this.#uses.get(target) ?? 0) + 1);
    }
  }

  #usesAfter(changes: readonly SpreadChange[]): Map<string, number> {
    const uses = new Map<string, number>();
    const count = (target: string, by: number): void => {
      uses.set(target, (uses.get(target) ?? this.#uses.get(target) ?? 0) + by);
    };
    for (const { before, after } of changes) {
      before?.forEach((target) => count(target, -1));
      after?.forEach((target) => count(target, 1));
    }
    return uses;
  }

  #remember(
    known: Map<string, readonly string[]>,
    changes: readonly SpreadChange[],
    uses: ReadonlyMap<string, number>,
  ): void {
    changes.forEach(({ key, after }) => (after === undefined ? known.delete(key) : known.set(key, after)));
    uses.forEach((count, target) =>
      count === 0 ? this.#uses.delete(target) : this.#uses.set(target, count),
    );
  }

  /** undefined when there is no such table, or not one of ours. */
  #look(netfilter: NetlinkSocket): Found | undefined {
    const { table } = this.#form;
    const elements = (set: string): DumpedElement[] =>
      readElements(netfilter.dump(this.#object, getElements(table, set)));
    try {
      return {
        spreads: elements(SPREADS),
        targets: new Map(
          elements(TARGETS).map(({ key, data }) => [key.toString('hex'), data.toString('hex')]),
        ),
        own: new Set(elements(OWN).map(({ key }) => key.toString('hex'))),
        rules: byChain(readRules(netfilter.dump(this.#object, getRules(table)))),
      };
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return undefined;
      }
      throw error;
    }
  }
}

function byChain(rules: readonly DumpedRule[]): Map<string, DumpedRule[]> {
  const chains = new Map<string, DumpedRule[]>();
  for (const rule of rules) {
    const others = chains.get(rule.chain);
    if (others === undefined) {
      chains.set(rule.chain, [rule]);
    } else {
      others.push(rule);
    }
  }
  return chains;
}

function spreadsOf({ spreads, targets }: Found): Map<string, string[]> {
  return new Map(
    spreads.map(({ key: bytes }) => {
      const key = bytes.toString('hex');
      const turns: string[] = [];
      for (;;) {
        const target = targets.get(targetKey(key, turns.length).toString('hex'));
        if (target === undefined) {
          return [key, turns];
        }
        turns.push(target);
      }
    }),
  );
}

/** Keys of which something is not as it is wanted, and names of chains that are wrong for all. */
function wrongKeys(form: SpreadForm, found: Found, wanted: Spreads): Set<string> {
  const wrong = new Set<string>();
  const chains = new Map(found.spreads.map(({ key, chain }) => [key.toString('hex'), chain]));
  let turns = 0;
  for (const [key, targets] of wanted) {
    const isWhole =
      chains.get(key) === chainOf(key) &&
      areRules(spreadRules(form, targets.length), found.rules.get(chainOf(key))) &&
      targets.every((target, turn) => found.targets.get(targetKey(key, turn).toString('hex')) === target);
    turns += targets.length;
    if (!isWhole) {
      wrong.add(key);
    }
  }
  [...chains.keys()].filter((key) => !wanted.has(key)).forEach((key) => wrong.add(key));
  form.chains
    .filter(({ name, rules }) => !areRules(rules, found.rules.get(name)))
    .forEach(({ name }) => wrong.add(name));
  const own = new Set([...wanted.values()].flat().map((target) => target + target));
  if (own.size !== found.own.size || [...own].some((pair) => !found.own.has(pair))) {
    wrong.add(OWN);
  }
  if (wrong.size === 0 && turns !== found.targets.size) {
    wrong.add(TARGETS);
  }
  return wrong;
}

function areRules(wanted: SpreadForm['chains'][0]['rules'], found: readonly DumpedRule[] = []): boolean {
  return wanted.length === found.length && wanted.every((each, index) => isFoundAt(each, found, index));
}

function isFoundAt(
  wanted: SpreadForm['chains'][0]['rules'][0],
  found: readonly DumpedRule[],
  index: number,
): boolean {
  const rule = found[index];
  return rule !== undefined && isRule(wanted, rule);
}

function without(targets: readonly string[], others: readonly string[]): string[] {
  return targets.filter((target) => !others.includes(target));
}

function unique(targets: readonly string[]): string[] {
  return [...new Set(targets)];
}

function isSame(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  return (
    one === other ||
    (one?.length === other?.length && one?.every((target, turn) => other?.[turn] === target) === true)
  );
}
