import { attributeText, decodeAttributes, decodeList } from '../netlink/attributes.ts';
import type { Attribute } from '../netlink/attributes.ts';
import type { NetlinkMessage } from '../netlink/netlink.ts';
import type { Expression } from './expressions.ts';
import { ELEMENT, ELEMENTS, RULE } from './messages.ts';

/** What the kernel tells of tables, read. Pure. */
const HEADER_BYTES = 4;
const NESTED = 0x8000;
const DATA = { value: 1, verdict: 2 };
const VERDICT_CHAIN = 2;

/** An element of a set or map. */
export interface DumpedElement {
  key: Buffer;
  /** Empty in a set, and for a verdict. */
  data: Buffer;
  /** That a verdict leads to; empty for all others. */
  chain: string;
}

export interface DumpedRule {
  chain: string;
  /** To be compared by `isExpression`. */
  expressions: readonly Attribute[];
}

/** Of answers to `getElements`. */
export function readElements(messages: readonly NetlinkMessage[]): DumpedElement[] {
  return messages.flatMap((message) => {
    const list = attributesOf(message).get(ELEMENTS.list) ?? Buffer.alloc(0);
    return decodeList(list).map(({ value }) => readElement(decodeAttributes(value)));
  });
}

function readElement(element: ReadonlyMap<number, Buffer>): DumpedElement {
  const key = decodeAttributes(element.get(ELEMENT.key) ?? Buffer.alloc(0));
  const data = decodeAttributes(element.get(ELEMENT.data) ?? Buffer.alloc(0));
  const verdict = decodeAttributes(data.get(DATA.verdict) ?? Buffer.alloc(0));
  return {
    key: key.get(DATA.value) ?? Buffer.alloc(0),
    data: data.get(DATA.value) ?? Buffer.alloc(0),
    chain: attributeText(verdict.get(VERDICT_CHAIN)),
  };
}

/** Of answers to `getRules`, in their order. */
export function readRules(messages: readonly NetlinkMessage[]): DumpedRule[] {
  return messages.map((message) => {
    const rule = attributesOf(message);
    return {
      chain: attributeText(rule.get(RULE.chain)),
      expressions: decodeList(rule.get(RULE.expressions) ?? Buffer.alloc(0)),
    };
  });
}

/** Whether a rule does what these expressions say: the kernel tells besides what they leave to it. */
export function isRule(wanted: readonly Expression[], found: DumpedRule): boolean {
  return (
    wanted.length === found.expressions.length &&
    wanted.every((each, index) => holds(each, found.expressions[index]))
  );
}

function holds(wanted: Attribute, found: Attribute | undefined): boolean {
  if (found === undefined) {
    return false;
  }
  if ((wanted.type & NESTED) === 0) {
    return wanted.value.equals(found.value);
  }
  const inside = decodeList(found.value);
  return decodeList(wanted.value).every((each) =>
    holds(
      each,
      inside.find(({ type }) => (type & ~NESTED) === (each.type & ~NESTED)),
    ),
  );
}

function attributesOf(message: NetlinkMessage): Map<number, Buffer> {
  return decodeAttributes(message.payload.subarray(HEADER_BYTES));
}
