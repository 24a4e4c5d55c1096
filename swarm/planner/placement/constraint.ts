import { parseAnyCidr, parseIp } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { contains } from '../../../daemon/base/addresses/ipv4.ts';
import { contains6 } from '../../../daemon/base/addresses/ipv6.ts';
import { internal } from '../../../daemon/base/errors.ts';
import type { NodeTraits } from './traits.ts';

/**
 * Placement constraints: `node.labels.zone == east`. One parser for the API (which refuses), the scheduler (which
 * chooses) and the enforcer (which evicts). Pure.
 */
export interface Constraint {
  /** Compared without case up to the label's name, which is exact. */
  key: string;
  operator: Operator;
  /** Compared without case. No pattern: `*` is a star. */
  value: string;
}

type Operator = '==' | '!=';

/** Looked for in this order: `a!=b==c` is the key `a!=b`, which is then refused. */
const OPERATORS: readonly Operator[] = ['==', '!='];

const KEY = /^[a-z_][a-z0-9\-_.]+$/i;
/** Without the characters of operators to come (`>`, `<`, `~`, ...). */
const VALUE = /^[a-z0-9:\-_\t\n\f\r .*()?+[\]\\^$|/]+$/i;

/** Keys that name one fact of the node; the others are labels. */
const FACTS: Readonly<Record<string, (node: NodeTraits) => string>> = {
  'node.id': (node) => node.id,
  'node.hostname': (node) => node.hostname,
  'node.role': (node) => node.role,
  'node.platform.os': (node) => node.platform.os,
  'node.platform.arch': (node) => node.platform.architecture,
};
const FACT_BY_KEY = new Map(Object.entries(FACTS));

/**
 * Throws in swarmkit's words for a text that is no constraint. The error has the code `internal`, as there: clients
 * get 500. A key that means nothing passes, and then fits no node.
 */
export function parseConstraints(texts: readonly string[]): Constraint[] {
  return texts.map((text) => {
    const operator = OPERATORS.find((each) => text.includes(each));
    if (operator === undefined) {
      throw internal(`constraint expected one operator from ${OPERATORS.join(', ')}`);
    }
    const at = text.indexOf(operator);
    const key = text.slice(0, at).trim();
    const value = text.slice(at + operator.length).trim();
    if (!KEY.test(key)) {
      throw internal(`key '${key}' is invalid`);
    }
    if (!VALUE.test(value)) {
      throw internal(`value '${value}' is invalid`);
    }
    return { key, operator, value };
  });
}

/** Whether a node satisfies all of them. A label that the node does not have has the value "". */
export function constraintsFit(constraints: readonly Constraint[], node: NodeTraits): boolean {
  return constraints.every((constraint) => fits(constraint, node));
}

function fits({ key, operator, value }: Constraint, node: NodeTraits): boolean {
  const wantsEqual = operator === '==';
  if (key.toLowerCase() === 'node.ip') {
    const isIn = addressMatches(value, node.address);
    return isIn !== undefined && isIn === wantsEqual;
  }
  const fact = nodeValue(key, node);
  return fact !== undefined && (fact.toLowerCase() === value.toLowerCase()) === wantsEqual;
}

/**
 * The value of a node under a constraint's or a spread preference's key: `node.role`, `node.labels.zone`. "" for a
 * label that the node does not have, undefined for a key that means nothing.
 */
function nodeValue(key: string, node: NodeTraits): string | undefined {
  return FACT_BY_KEY.get(key.toLowerCase())?.(node) ?? labelValue(key, node);
}

/** The same for keys that name a label of the node or of its engine: the ones tasks can be spread over. */
export function labelValue(key: string, node: NodeTraits): string | undefined {
  const label = /^(node|engine)\.labels\.(.+)$/is.exec(key);
  if (label === null) {
    return undefined;
  }
  const labels = label[1]?.toLowerCase() === 'node' ? node.labels : node.engineLabels;
  return labels.get(label[2] ?? '') ?? '';
}

/** Whether a node's address is the one named, or in the network named; undefined where the text is neither. */
function addressMatches(text: string, address: string): boolean | undefined {
  const own = unmapped(parseIp(address));
  const single = parseIp(text);
  if (single !== undefined) {
    return own === unmapped(single);
  }
  const subnet = parseAnyCidr(text)?.subnet;
  if (subnet === undefined) {
    return undefined;
  }
  if (typeof subnet.base === 'bigint') {
    return (
      typeof own === 'bigint' && contains6({ base: subnet.base, prefixLength: subnet.prefixLength }, own)
    );
  }
  return typeof own === 'number' && contains({ base: subnet.base, prefixLength: subnet.prefixLength }, own);
}

/** `::ffff:10.0.0.1` is 10.0.0.1. */
function unmapped(address: IpAddress | undefined): IpAddress | undefined {
  const isMapped = typeof address === 'bigint' && address >> 32n === 0xffffn;
  return isMapped ? Number(address & 0xffff_ffffn) : address;
}
