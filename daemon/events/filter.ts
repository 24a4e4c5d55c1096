import type { EventMessage, EventType } from '../../api/types/system.ts';
import { invalidArgument } from '../base/errors.ts';
import { hasLabel } from '../base/filters.ts';

/** True for events that a client wants to see. */
export type EventFilter = (event: EventMessage) => boolean;

type Values = readonly string[];
type Matcher = (event: EventMessage, values: Values) => boolean;

/**
 * What each key of the `filters` parameter of `GET /events` looks at. Values of one key are alternatives (all labels
 * must hold, though); keys must all match. `plugin` is a kind of object that this engine has no events of, so it
 * matches nothing.
 */
const MATCHERS: ReadonlyMap<string, Matcher> = new Map<string, Matcher>([
  ['type', (event, values) => values.includes(event.Type)],
  ['event', (event, values) => values.some((value) => isAction(event.Action, value))],
  ['scope', (event, values) => values.includes(event.scope)],
  ['label', (event, values) => values.every((value) => hasLabel(event.Actor.Attributes, value))],
  ['image', matchImage],
  ['container', matchActor('container')],
  ['volume', matchActor('volume')],
  ['network', matchActor('network')],
  ['daemon', matchActor('daemon')],
  ...(['node', 'service', 'secret', 'config'] as const).map((key): [string, Matcher] => [
    key,
    matchActor(key),
  ]),
  ['plugin', () => false],
]);

/** Makes one test of a `filters` parameter. Throws invalid_argument that names an unknown key. */
export function eventFilter(filters: ReadonlyMap<string, Values>): EventFilter {
  const tests = [...filters]
    .filter(([, values]) => values.length > 0)
    .map(([key, values]) => {
      const matcher = MATCHERS.get(key);
      if (matcher === undefined) {
        throw invalidArgument(`invalid filter '${key}'`);
      }
      return (event: EventMessage) => matcher(event, values);
    });
  return (event) => tests.every((test) => test(event));
}

/** `exec_create` stands for every `exec_create: <command>`, `health_status` for every `health_status: <state>`. */
function isAction(action: string, value: string): boolean {
  return action === value || action.startsWith(`${value}:`);
}

/** The id or the name of an object, or the beginning of one (as moby's daemon/events/filter.go). */
function matchActor(type: EventType): Matcher {
  return (event, values) =>
    event.Type === type &&
    [event.Actor.ID, event.Actor.Attributes['name'] ?? ''].some((text) =>
      values.some((value) => text.startsWith(value.replace(/^\//, ''))),
    );
}

/** Events of an image, and of containers made from it; with or without its tag. */
function matchImage(event: EventMessage, values: Values): boolean {
  const names =
    event.Type === 'image'
      ? [event.Actor.ID, event.Actor.Attributes['name']]
      : [event.Type === 'container' ? event.Actor.Attributes['image'] : undefined];
  return names.some(
    (name) => name !== undefined && (values.includes(name) || values.includes(bareName(name))),
  );
}

/** `docker.io/library/busybox:1.36` -> `busybox`. */
function bareName(reference: string): string {
  return reference
    .replace(/@.*$/, '')
    .replace(/:[^/:]*$/, '')
    .replace(/^docker\.io\/(library\/)?/, '');
}
