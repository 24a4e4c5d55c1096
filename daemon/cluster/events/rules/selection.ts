import type { EventFields, EventSelection, ObjectReference } from '../../../../api/types/cluster/events.ts';
import type { EventFacts, KnownEvent } from '../event-text.ts';
import { badRequest } from '../problems.ts';
import { labelValueProblem, qualifiedNameProblem } from './names.ts';

export type Predicate = (event: KnownEvent) => boolean;

type Read = (event: KnownEvent) => string;

const REFERENCE = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;

/** Kubernetes: the fields of events that selectors may name, in each version. */
const READERS: Readonly<Record<EventFields, ReadonlyMap<string, Read>>> = {
  events: new Map<string, Read>([
    ...common(),
    ...reference('regarding'),
    ['reportingController', ({ facts }) => reporter(facts)],
  ]),
  core: new Map<string, Read>([
    ...common(),
    ...reference('involvedObject'),
    ['reportingComponent', ({ facts }) => facts.controller],
    ['source', ({ facts }) => facts.source || facts.controller],
  ]),
};

function common(): [string, Read][] {
  return [
    ['metadata.name', ({ name }) => name],
    ['metadata.namespace', ({ namespace }) => namespace],
    ['reason', ({ facts }) => facts.reason],
    ['type', ({ facts }) => facts.type],
  ];
}

function reference(prefix: string): [string, Read][] {
  return REFERENCE.map((field) => [`${prefix}.${field}`, ({ facts }) => of(facts.regarding, field)]);
}

function of(regarding: ObjectReference, field: (typeof REFERENCE)[number]): string {
  return regarding[field] ?? '';
}

/** Kubernetes: events of the older version have a source in its place. */
function reporter({ controller, source }: EventFacts): string {
  return controller || source;
}

/** What a selection lets through; undefined = everything. Throws invalid_argument for a selector. */
export function predicateOf(selection: EventSelection): Predicate | undefined {
  const { namespace, fieldSelector, labelSelector, fields } = selection;
  const parts = [
    ...(namespace === undefined ? [] : [(event: KnownEvent): boolean => event.namespace === namespace]),
    ...fieldTerms(fieldSelector, fields),
    ...labelTerms(labelSelector),
  ];
  if (parts.length === 0) {
    return undefined;
  }
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : (event) => parts.every((part) => part(event));
}

/** `reason=Pulled,type!=Normal`. */
function fieldTerms(text: string, fields: EventFields): Predicate[] {
  return splitTerms(text).map((term) => {
    const [, name = '', operator = '', value = ''] = /^([^=!]+?)(==|=|!=)(.*)$/s.exec(term) ?? [];
    if (operator === '') {
      throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    }
    const read = READERS[fields].get(name);
    if (read === undefined) {
      throw badRequest(`field label not supported: ${name}`);
    }
    const wanted = value.replaceAll(/\\([\\,=])/g, '$1');
    return operator === '!=' ? (event) => read(event) !== wanted : (event) => read(event) === wanted;
  });
}

/** At commas that no backslash stands before. */
function splitTerms(text: string): string[] {
  return (text.match(/(?:\\.|[^,\\])+/gs) ?? []).filter((term) => term !== '');
}

const SET = /^(\S+)\s+(in|notin)\s+\(([^()]*)\)$/;
const COMPARED = /^([^\s=!<>]+)\s*(==|=|!=|>|<)\s*([^\s=!<>,]*)$/;

/** `app=web,tier in (a, b),!gone`. */
function labelTerms(text: string): Predicate[] {
  const terms = (text.match(/(?:\([^)]*\)|[^,(])+/g) ?? []).map((term) => term.trim());
  return terms.filter((term) => term !== '').map((term) => labelTerm(term, text));
}

function labelTerm(term: string, text: string): Predicate {
  const [, setKey = '', operator = '', list = ''] = SET.exec(term) ?? [];
  if (operator !== '') {
    checkKey(setKey, text);
    const values = new Set(list.split(',').map((value) => value.trim()));
    values.forEach((value) => checkValue(value, text));
    return operator === 'in'
      ? (event) => values.has(labelOf(event, setKey) ?? '\0')
      : (event) => !values.has(labelOf(event, setKey) ?? '\0');
  }
  const [, key = '', sign = '', value = ''] = COMPARED.exec(term) ?? [];
  if (sign !== '') {
    checkKey(key, text);
    checkValue(value, text);
    return compared(key, sign, value, text);
  }
  const isAbsent = term.startsWith('!');
  const name = isAbsent ? term.slice(1).trim() : term;
  checkKey(name, text);
  return (event) => (labelOf(event, name) === undefined) === isAbsent;
}

function compared(key: string, sign: string, value: string, text: string): Predicate {
  if (sign === '>' || sign === '<') {
    if (!/^-?\d+$/.test(value)) {
      throw badRequest(
        `unable to parse requirement: ${text}: for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    }
    const bound = Number(value);
    return (event) => {
      const label = labelOf(event, key);
      return label !== undefined && /^-?\d+$/.test(label) && (sign === '>' ? +label > bound : +label < bound);
    };
  }
  return sign === '!=' ? (event) => labelOf(event, key) !== value : (event) => labelOf(event, key) === value;
}

function labelOf({ facts }: KnownEvent, key: string): string | undefined {
  return facts.labels !== undefined && Object.hasOwn(facts.labels, key) ? facts.labels[key] : undefined;
}

function checkKey(key: string, text: string): void {
  const problem = qualifiedNameProblem(key);
  if (problem !== undefined) {
    throw badRequest(
      `unable to parse requirement: ${text}: key: Invalid value: ${JSON.stringify(key)}: ${problem}`,
    );
  }
}

function checkValue(value: string, text: string): void {
  const problem = labelValueProblem(value);
  if (problem !== undefined) {
    throw badRequest(
      `unable to parse requirement: ${text}: values: Invalid value: ${JSON.stringify(value)}: ${problem}`,
    );
  }
}
