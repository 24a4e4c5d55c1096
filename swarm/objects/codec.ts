import { errorText, internal } from '../../daemon/base/errors.ts';
import { keyOf } from './keys.ts';
import type { PartName, Parts } from './parts.ts';
import { isTaskState } from './task-state.ts';

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const whole: Check = (value) => Number.isSafeInteger(value);
const flag: Check = (value) => typeof value === 'boolean';
const object: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const list: Check = (value) => Array.isArray(value);
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const OWNED = { created: whole, updated: whole };

/** What each part must have to be used at all. What lies deeper was checked before it was first stored. */
const SHAPES: { [P in PartName]: { [F in Exclude<keyof Parts[P], 'id'>]-?: Check } } = {
  cluster: { ...OWNED, spec: object, addressPools: list, subnetSize: whole, dataPathPort: whole },
  node: { ...OWNED, spec: object },
  nodeState: { role: text, state: text, message: text, addr: text, dataAddr: maybe(text), since: whole },
  nodeDescription: { description: object, subnets: maybe(list) },
  service: {
    ...OWNED,
    spec: object,
    template: whole,
    templatesIssued: whole,
    rollback: maybe(object),
    job: maybe(object),
  },
  previousService: { spec: object, template: whole },
  serviceRun: {
    ports: maybe(list),
    portsOf: maybe(whole),
    portsError: maybe(text),
    vips: maybe(list),
    update: maybe(object),
  },
  template: { task: object, endpoint: maybe(object) },
  task: {
    ...OWNED,
    service: text,
    slot: maybe(whole),
    pinned: maybe(text),
    node: maybe(text),
    template: whole,
    desired: isTaskState,
    iteration: maybe(whole),
    gate: maybe(object),
    byUpdate: maybe(flag),
    refusal: maybe(object),
    generic: maybe(list),
    networks: maybe(list),
  },
  status: {
    state: isTaskState,
    at: whole,
    running: maybe(whole),
    message: text,
    error: maybe(text),
    container: maybe(object),
    ports: maybe(list),
  },
  network: {
    ...OWNED,
    name: text,
    labels: object,
    driver: text,
    ingress: flag,
    attachable: flag,
    overlay: maybe(object),
  },
  attachment: { created: whole, network: text, node: text, container: text, names: list, addresses: list },
  nodeAddresses: { networks: list },
  secret: { ...OWNED, spec: object },
  config: { ...OWNED, spec: object },
};

/** JSON as UTF-8. The id is left out: the key says it. */
export function encodePart<P extends PartName>(part: P, value: Parts[P]): Uint8Array {
  checkPart(part, value.id, value);
  const { id: _id, ...rest } = value;
  return Buffer.from(JSON.stringify(rest));
}

/**
 * The part in `bytes`, stored under the key of `part` and `id`. Fields that this version does not know are kept, so
 * that a manager of an older version loses nothing. Throws internal, naming the key, for what is no such part.
 */
export function decodePart<P extends PartName>(part: P, id: string, bytes: Uint8Array): Parts[P] {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (error) {
    throw internal(`read ${keyOf(part, id)} of the swarm's store: ${errorText(error)}`, { cause: error });
  }
  checkPart(part, id, value);
  // Every field has just been checked. A copy with its id would have a hidden class of its own.
  return Object.assign(value as object, { id }) as Parts[P];
}

function checkPart(part: PartName, id: string, value: unknown): void {
  const fields: [string, Check][] = Object.entries(SHAPES[part]);
  if (!object(value)) {
    throw internal(`${keyOf(part, id)} of the swarm's store is no object`);
  }
  // It has just been found to be an object.
  const given = value as Record<string, unknown>;
  for (const [name, holds] of fields) {
    if (!holds(Object.hasOwn(given, name) ? given[name] : undefined)) {
      throw internal(`${keyOf(part, id)} of the swarm's store: ${name} is ${JSON.stringify(given[name])}`);
    }
  }
}
