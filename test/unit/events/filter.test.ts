import { expect, test } from 'vitest';
import type { EventType } from '../../../api/types/system.ts';
import { eventFilter } from '../../../daemon/events/filter.ts';
import { toMessage } from '../../../daemon/events/message.ts';

function event(type: EventType, action: string, actorId: string, attributes: Record<string, string> = {}) {
  return toMessage({ type, action, actorId, attributes, timeNano: 1n });
}

const EVENTS = {
  start: event('container', 'start', 'c0ffee11', { name: 'web', image: 'busybox:1.36', tier: 'front' }),
  exec: event('container', 'exec_create: /bin/sh', 'c0ffee11', { name: 'web', image: 'busybox:1.36' }),
  unhealthy: event('container', 'health_status: unhealthy', 'beef2222', {
    name: 'db',
    image: 'x/db@sha256:1',
  }),
  tag: event('image', 'tag', 'sha256:1234', { name: 'docker.io/library/busybox:1.36' }),
  mount: event('volume', 'mount', 'web', { driver: 'local', container: 'c0ffee11' }),
  connect: event('network', 'connect', 'ab12', { name: 'bridge', type: 'bridge', container: 'c0ffee11' }),
  reload: event('daemon', 'reload', 'ID-1', { name: 'host1' }),
};

test.each<[string, Record<string, string[]>, (keyof typeof EVENTS)[]]>([
  ['no filter', {}, ['start', 'exec', 'unhealthy', 'tag', 'mount', 'connect', 'reload']],
  ['type', { type: ['container'] }, ['start', 'exec', 'unhealthy']],
  ['two types', { type: ['volume', 'daemon'] }, ['mount', 'reload']],
  ['container by name, its volume namesake left out', { container: ['web'] }, ['start', 'exec']],
  ['container by name with a slash', { container: ['/db'] }, ['unhealthy']],
  ['container by id prefix', { container: ['c0ff', 'beef'] }, ['start', 'exec', 'unhealthy']],
  ['event', { event: ['start', 'tag'] }, ['start', 'tag']],
  ['event without its detail', { event: ['exec_create', 'health_status'] }, ['exec', 'unhealthy']],
  ['event with its detail', { event: ['health_status: unhealthy'] }, ['unhealthy']],
  ['event is no prefix otherwise', { event: ['sta'] }, []],
  ['image without tag', { image: ['busybox'] }, ['start', 'exec', 'tag']],
  ['image by id', { image: ['sha256:1234'] }, ['tag']],
  ['image by digest reference', { image: ['x/db'] }, ['unhealthy']],
  ['label with value', { label: ['tier=front'] }, ['start']],
  ['all labels must hold', { label: ['tier', 'other'] }, []],
  ['inherited properties are no labels', { label: ['constructor'] }, []],
  ['volume', { volume: ['web'] }, ['mount']],
  ['network by name', { network: ['bridge'] }, ['connect']],
  ['daemon by id', { daemon: ['ID-1'] }, ['reload']],
  ['scope', { scope: ['swarm'] }, []],
  ['kinds without events', { plugin: ['x'] }, []],
  ['keys add up', { type: ['container'], event: ['start'], container: ['db'] }, []],
])('eventFilter: %s', (_name, filters, expected) => {
  const matches = eventFilter(new Map(Object.entries(filters)));
  expect(Object.entries(EVENTS).flatMap(([name, item]) => (matches(item) ? [name] : []))).toEqual(expected);
});

test('eventFilter: an unknown key is refused by name', () => {
  expect(() => eventFilter(new Map([['colour', ['red']]]))).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message: "invalid filter 'colour'" }),
  );
});

test('toMessage: has the fields of today only, in the order dockerd writes them', () => {
  expect(Object.keys(EVENTS.start)).toEqual(['Type', 'Action', 'Actor', 'scope', 'time', 'timeNano']);
});

test('an event of no object in particular has no id', () => {
  expect(event('container', 'prune', '', { reclaimed: '0' })).toEqual({
    Type: 'container',
    Action: 'prune',
    Actor: { ID: '', Attributes: { reclaimed: '0' } },
    scope: 'local',
    time: 0,
    timeNano: 1n,
  });
});
