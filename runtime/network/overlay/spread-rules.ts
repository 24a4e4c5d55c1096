import type { NetlinkRequest } from '../netlink/netlink.ts';
import { act, gotoChain, load, registersOf } from '../nftables/expressions.ts';
import type { Expression } from '../nftables/expressions.ts';
import {
  addElements,
  deleteChain,
  deleteElements,
  deleteTable,
  flushChain,
  newChain,
  newRule,
  newSet,
  newTable,
} from '../nftables/messages.ts';
import type { Hook, KeyType, SetForm, Table } from '../nftables/messages.ts';

/**
 * Rules that send new flows to one of several targets in turn. Flows that exist stay where they are. Pure.
 *
 *   spreads   map: what a packet is for -> the chain of that
 *   to_<key>  one rule: dnat to <what it is for> . numgen inc mod <number of targets> map @targets
 *   targets   map: <what it is for> . <turn> -> target
 *   own       set: target . target, for flows of targets to themselves
 *
 * A chain for each, because a turn that two services share would send one of two clients' calls always to the same
 * place. A change is a few elements and a rule, whatever else is in the table.
 */
export interface SpreadForm {
  table: Table;
  /** Chains where packets come in. */
  chains: readonly { name: string; hook: Hook; rules: readonly (readonly Expression[])[] }[];
  /** What a packet is for, in registers from 0 on. */
  key: { load: readonly Expression[]; bytes: number; type: readonly KeyType[] };
  /** An address, in mesh tables with a port in the register after it. */
  target: { bytes: number; type: readonly KeyType[]; port?: number };
  /** Packets that are sent to a target get it. */
  mark?: number;
}

/** Key -> targets in the order of their turns, as hexadecimal digits. */
export type Spreads = ReadonlyMap<string, readonly string[]>;

/** What is to become of a key; undefined = it is gone. */
export interface SpreadChange {
  key: string;
  before: readonly string[] | undefined;
  after: readonly string[] | undefined;
}

export const SPREADS = 'spreads';
export const TARGETS = 'targets';
export const OWN = 'own';

const TURN_BYTES = 4;

export function chainOf(key: string): string {
  return `to_${key}`;
}

export function targetKey(key: string, turn: number): Buffer {
  const number = Buffer.alloc(TURN_BYTES);
  number.writeUInt32LE(turn);
  return Buffer.concat([Buffer.from(key, 'hex'), number]);
}

/** Those who stay keep their turns, so that little changes; the last ones take those of who went. */
export function turnsAfter(before: readonly string[], wanted: readonly string[]): string[] {
  const coming = new Set(wanted);
  const turns = before.map((target) => (coming.delete(target) ? target : undefined));
  const free = [...coming];
  for (let turn = 0; turn < turns.length; turn += 1) {
    turns[turn] ??= free.shift();
  }
  const kept = turns.filter((target) => target !== undefined);
  if (kept.length === turns.length) {
    return [...kept, ...free];
  }
  const last = turns.slice(kept.length).filter((target) => target !== undefined);
  return turns.slice(0, kept.length).flatMap((target) => target ?? last.shift() ?? []);
}

/** The rule of a key's chain; none without targets. */
export function spreadRules(form: SpreadForm, targets: number): Expression[][] {
  if (targets === 0) {
    return [];
  }
  const turn = registersOf(form.key.bytes);
  const { port } = form.target;
  return [
    [
      ...(form.mark === undefined ? [] : act.mark(form.mark)),
      ...form.key.load,
      load.turn(targets, turn),
      load.fromMap(TARGETS),
      act.changeDestination(form.table.family, port),
    ],
  ];
}

/** The part of a transaction that makes these changes in a table that is as it should be. */
export function changeRequests(
  form: SpreadForm,
  changes: readonly SpreadChange[],
  own: { add: readonly string[]; remove: readonly string[] },
): NetlinkRequest[] {
  const { table } = form;
  return [
    ...changes.flatMap((change) => oneChange(form, change)),
    ...deleteElements(table, OWN, own.remove.map(pair)),
    ...addElements(
      table,
      OWN,
      own.add.map((target) => ({ key: pair(target) })),
    ),
  ];
}

function oneChange(form: SpreadForm, { key, before, after }: SpreadChange): NetlinkRequest[] {
  const { table } = form;
  const [old, now] = [before ?? [], after ?? []];
  const chain = chainOf(key);
  const entry = Buffer.from(key, 'hex');
  const stale = old.flatMap((target, turn) => (now[turn] === target ? [] : [targetKey(key, turn)]));
  const fresh = now.flatMap((target, turn) =>
    old[turn] === target ? [] : [{ key: targetKey(key, turn), data: Buffer.from(target, 'hex') }],
  );
  return [
    ...(before === undefined && after !== undefined ? [newChain(table, chain)] : []),
    ...deleteElements(table, TARGETS, stale),
    ...addElements(table, TARGETS, fresh),
    ...(old.length === now.length || old.length === 0 ? [] : [flushChain(table, chain)]),
    ...(old.length === now.length
      ? []
      : spreadRules(form, now.length).map((rule) => newRule(table, chain, rule))),
    ...(before === undefined && after !== undefined
      ? addElements(table, SPREADS, [{ key: entry, data: gotoChain(chain) }])
      : []),
    ...(before !== undefined && after === undefined
      ? [...deleteElements(table, SPREADS, [entry]), deleteChain(table, chain)]
      : []),
  ];
}

/** A transaction that makes the table what it should be, whatever it was. */
export function rebuildRequests(form: SpreadForm, spreads: Spreads): NetlinkRequest[] {
  const { table } = form;
  const all = [...spreads].map(([key, after]) => ({ key, before: undefined, after }));
  const add = [...new Set([...spreads.values()].flat())];
  return [
    // One that is not there cannot be deleted.
    newTable(table),
    deleteTable(table),
    newTable(table),
    ...setForms(form).map((each, index) => newSet(table, each, index + 1)),
    ...form.chains.flatMap(({ name, hook, rules }) => [
      newChain(table, name, hook),
      ...rules.map((rule) => newRule(table, name, rule)),
    ]),
    ...changeRequests(form, all, { add, remove: [] }),
  ];
}

function setForms({ key, target }: SpreadForm): SetForm[] {
  return [
    { name: SPREADS, keyBytes: key.bytes, keyType: key.type, data: 'verdict' },
    {
      name: TARGETS,
      keyBytes: key.bytes + TURN_BYTES,
      keyType: [...key.type, 'mark'],
      data: { bytes: target.bytes, type: target.type },
    },
    { name: OWN, keyBytes: 2 * target.bytes, keyType: [...target.type, ...target.type] },
  ];
}

/** An element of a map from an address to itself. */
function pair(target: string): Buffer {
  return Buffer.from(target + target, 'hex');
}
