import { attribute, encodeAttributes } from '../netlink/attributes.ts';
import type { Attribute } from '../netlink/attributes.ts';
import { FLAG } from '../netlink/netlink.ts';
import type { NetlinkRequest } from '../netlink/netlink.ts';
import { IP_FAMILIES, dataValue } from './expressions.ts';
import type { Expression, Family } from './expressions.ts';

/**
 * Messages of nftables (linux/netfilter/nf_tables.h): what is in a table, made and deleted. They belong into a
 * transaction (`NetlinkSocket.transact`). Pure.
 */
export interface Table {
  family: Family;
  name: string;
}

/** Where a chain begins; without one it is only gone to. */
export interface Hook {
  type: 'filter' | 'nat';
  at: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';
  priority: number;
  policy?: 'accept' | 'drop';
}

/** A set, or with `data` a map: to values of so many bytes, or to verdicts. */
export interface SetForm {
  name: string;
  keyBytes: number;
  /** As nft(8) numbers types, for its listings: one for each part of the key. */
  keyType: readonly KeyType[];
  data?: { bytes: number; type: readonly KeyType[] } | 'verdict';
}

export type KeyType = 'address' | 'protocol' | 'port' | 'mark';

export interface SetElement {
  key: Buffer;
  /** Bytes, or a verdict as `gotoChain` makes it. */
  data?: Buffer | Attribute;
}

const NFTABLES = 10 << 8;
export const NFT_MESSAGE = {
  newTable: NFTABLES,
  deleteTable: NFTABLES | 2,
  newChain: NFTABLES | 3,
  getChain: NFTABLES | 4,
  deleteChain: NFTABLES | 5,
  newRule: NFTABLES | 6,
  getRule: NFTABLES | 7,
  deleteRule: NFTABLES | 8,
  newSet: NFTABLES | 9,
  newElement: NFTABLES | 12,
  getElement: NFTABLES | 13,
  deleteElement: NFTABLES | 14,
} as const;

const TABLE_NAME = 1;
const CHAIN = { table: 1, name: 3, hook: 4, policy: 5, type: 7 };
const HOOK = { number: 1, priority: 2 };
export const RULE = { table: 1, chain: 2, expressions: 4 } as const;
const SET = { table: 1, name: 2, flags: 3, keyType: 4, keyBytes: 5, dataType: 6, dataBytes: 7, id: 10 };
export const ELEMENTS = { table: 1, set: 2, list: 3 } as const;
export const ELEMENT = { key: 1, data: 2 } as const;
export const LIST_ELEMENT = 1;

const HOOKS = { prerouting: 0, input: 1, forward: 2, output: 3, postrouting: 4 } as const;
const POLICIES = { drop: 0, accept: 1 } as const;
const MAP = 8;
const VERDICTS = 0xffffff00;
const APPEND = 0x800;
const TYPES = { ip: 7, ip6: 8, protocol: 12, port: 13, mark: 19 } as const;
const TYPE_BITS = 6;
/** Of a list of elements: an attribute's length is a number of 16 bits. */
const LIST_BYTES_MAX = 32 * 1024;

/** One that is there is no error. */
export function newTable(table: Table): NetlinkRequest {
  return nftMessage(NFT_MESSAGE.newTable, table, FLAG.create, [attribute.text(TABLE_NAME, table.name)]);
}

/** With all that is in it. */
export function deleteTable(table: Table): NetlinkRequest {
  return nftMessage(NFT_MESSAGE.deleteTable, table, 0, [attribute.text(TABLE_NAME, table.name)]);
}

/** One that is there is no error. */
export function newChain(table: Table, name: string, hook?: Hook): NetlinkRequest {
  return nftMessage(NFT_MESSAGE.newChain, table, FLAG.create, [
    attribute.text(CHAIN.table, table.name),
    attribute.text(CHAIN.name, name),
    ...(hook === undefined
      ? []
      : [
          attribute.nested(CHAIN.hook, [
            attribute.u32be(HOOK.number, HOOKS[hook.at]),
            attribute.u32be(HOOK.priority, hook.priority >>> 0),
          ]),
          attribute.u32be(CHAIN.policy, POLICIES[hook.policy ?? 'accept']),
          attribute.text(CHAIN.type, hook.type),
        ]),
  ]);
}

/** Without rules, and gone to by nothing. */
export function deleteChain(table: Table, name: string): NetlinkRequest {
  return nftMessage(NFT_MESSAGE.deleteChain, table, 0, [
    attribute.text(CHAIN.table, table.name),
    attribute.text(CHAIN.name, name),
  ]);
}

/** After the rules that the chain has. */
export function newRule(table: Table, chain: string, expressions: readonly Expression[]): NetlinkRequest {
  return nftMessage(NFT_MESSAGE.newRule, table, FLAG.create | APPEND, [
    attribute.text(RULE.table, table.name),
    attribute.text(RULE.chain, chain),
    attribute.nested(RULE.expressions, expressions),
  ]);
}

/** Its rules go, the chain stays. */
export function flushChain(table: Table, chain: string): NetlinkRequest {
  return nftMessage(NFT_MESSAGE.deleteRule, table, 0, [
    attribute.text(RULE.table, table.name),
    attribute.text(RULE.chain, chain),
  ]);
}

/** `id` is any number that no other set of the transaction has. */
export function newSet(table: Table, form: SetForm, id: number): NetlinkRequest {
  const { data } = form;
  return nftMessage(NFT_MESSAGE.newSet, table, FLAG.create, [
    attribute.text(SET.table, table.name),
    attribute.text(SET.name, form.name),
    attribute.u32be(SET.flags, data === undefined ? 0 : MAP),
    attribute.u32be(SET.keyType, typeNumber(table, form.keyType)),
    attribute.u32be(SET.keyBytes, form.keyBytes),
    ...(data === undefined ? [] : [attribute.u32be(SET.dataType, dataType(table, data))]),
    ...(data === undefined || data === 'verdict' ? [] : [attribute.u32be(SET.dataBytes, data.bytes)]),
    attribute.u32be(SET.id, id),
  ]);
}

/** One that is there with the same data is no error, one with other data is. */
export function addElements(table: Table, set: string, elements: readonly SetElement[]): NetlinkRequest[] {
  return elementMessages(NFT_MESSAGE.newElement, FLAG.create, { table, set, elements });
}

/** By their keys. One that is not there fails the transaction. */
export function deleteElements(table: Table, set: string, keys: readonly Buffer[]): NetlinkRequest[] {
  const elements = keys.map((key) => ({ key }));
  return elementMessages(NFT_MESSAGE.deleteElement, 0, { table, set, elements });
}

/** A get, to be dumped. */
export function getElements(table: Table, set: string): NetlinkRequest {
  return nftMessage(NFT_MESSAGE.getElement, table, 0, [
    attribute.text(ELEMENTS.table, table.name),
    attribute.text(ELEMENTS.set, set),
  ]);
}

/** A get, to be dumped: of all chains of the table. */
export function getRules(table: Table): NetlinkRequest {
  return nftMessage(NFT_MESSAGE.getRule, table, 0, [attribute.text(RULE.table, table.name)]);
}

function elementMessages(
  type: number,
  flags: number,
  { table, set, elements }: { table: Table; set: string; elements: readonly SetElement[] },
): NetlinkRequest[] {
  const requests: NetlinkRequest[] = [];
  let list: Attribute[] = [];
  let bytes = 0;
  const finish = (): void => {
    if (list.length > 0) {
      requests.push(
        nftMessage(type, table, flags, [
          attribute.text(ELEMENTS.table, table.name),
          attribute.text(ELEMENTS.set, set),
          attribute.nested(ELEMENTS.list, list),
        ]),
      );
    }
    list = [];
    bytes = 0;
  };
  for (const each of elements) {
    const element = attribute.nested(LIST_ELEMENT, elementAttributes(each));
    const size = encodeAttributes([element]).length;
    if (bytes + size > LIST_BYTES_MAX) {
      finish();
    }
    list.push(element);
    bytes += size;
  }
  finish();
  return requests;
}

function elementAttributes({ key, data }: SetElement): Attribute[] {
  if (data === undefined) {
    return [dataValue(ELEMENT.key, key)];
  }
  return [
    dataValue(ELEMENT.key, key),
    Buffer.isBuffer(data) ? dataValue(ELEMENT.data, data) : attribute.nested(ELEMENT.data, [data]),
  ];
}

function dataType(table: Table, data: NonNullable<SetForm['data']>): number {
  return data === 'verdict' ? VERDICTS : typeNumber(table, data.type);
}

function typeNumber({ family }: Table, parts: readonly KeyType[]): number {
  return parts.reduce((number, part) => (number << TYPE_BITS) | TYPES[part === 'address' ? family : part], 0);
}

function nftMessage(type: number, { family }: Table, flags: number, attributes: Attribute[]): NetlinkRequest {
  // struct nfgenmsg: family, version, resource.
  return { type, flags, header: Buffer.of(IP_FAMILIES[family], 0, 0, 0), attributes };
}
