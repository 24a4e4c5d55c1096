import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ListContainersOptions } from '../../../../api/types/ports.ts';
import { ContainerRig } from '../../../support/fakes/container-rig.ts';

let rig: ContainerRig;
/** Names by id, so that expectations read. */
const names = new Map<string, string>();

const note = async (name: string, id: Promise<string>): Promise<string> => {
  names.set(await id, name);
  return id;
};

beforeEach(async () => {
  rig = await ContainerRig.make();
  const none = { NetworkMode: 'none' };
  await note('created', rig.create({ HostConfig: none, Labels: { tier: 'a' } }, 'created'));
  const ended = await note('ended', rig.run({ HostConfig: none, Volumes: { '/data': {} } }, 'ended'));
  await note(
    'web',
    rig.run(
      {
        Cmd: ['sh', '-c', 'sleep 1'],
        ExposedPorts: { '80/tcp': {}, '53/udp': {} },
        Labels: { tier: 'b', 'a.b': 'c=d' },
        HostConfig: {
          NetworkMode: 'bridge',
          PortBindings: { '80/tcp': [{ HostIp: '0.0.0.0', HostPort: '8080' }] },
        },
      },
      'web',
    ),
  );
  const looping = await note(
    'looping',
    rig.run({ HostConfig: { ...none, RestartPolicy: { Name: 'always' } } }, 'looping'),
  );
  await rig.exit(ended, 3);
  await rig.exit(looping, 1);
  await rig.clock.advance(50);
});

afterEach(() => rig[Symbol.dispose]());

const list = async (change: Partial<ListContainersOptions> = {}): Promise<string[]> => {
  const found = await rig.containers.list({
    all: true,
    limit: 0,
    size: false,
    filters: new Map(),
    ...change,
  });
  return found.map(({ Id }) => names.get(Id) ?? '?');
};
const filter = (...entries: [string, ...string[]][]): Partial<ListContainersOptions> => ({
  filters: new Map(entries.map(([key, ...values]) => [key, values])),
});

test.each<[string, Partial<ListContainersOptions>, string]>([
  ['all, newest first', {}, 'looping web ended created'],
  ['running ones', { all: false }, 'looping web'],
  ['limit means all', { all: false, limit: 3 }, 'looping web ended'],
  ['since and before', { since: 'created', before: 'looping' }, 'web ended'],
  ['filters since, before', filter(['since', 'created'], ['before', 'looping']), 'web ended'],
  ['status means all', { all: false, ...filter(['status', 'exited', 'created']) }, 'ended created'],
  ['status restarting', filter(['status', 'restarting']), 'looping'],
  ['exited', filter(['exited', '3']), 'ended'],
  ['exited of none', filter(['exited', '0']), ''],
  ['label', filter(['label', 'tier']), 'web created'],
  ['label with value', filter(['label', 'tier=b', 'a.b=c=d']), 'web'],
  ['label that is inherited by objects', filter(['label', 'constructor']), ''],
  ['name, part', filter(['name', 'e']), 'web ended created'],
  ['name, expression', filter(['name', '^/web$']), 'web'],
  ['name, no expression', filter(['name', '(']), ''],
  ['network by name', filter(['network', 'bridge']), 'web'],
  ['network by id', filter(['network', 'id-of-bridge']), 'web'],
  ['volume by destination', filter(['volume', '/data']), 'ended'],
  ['network by the beginning of an id', filter(['network', 'id-of-b']), 'web'],
  ['network by nothing', filter(['network', '']), ''],
  ['publish, of the host', filter(['publish', '8080']), 'web'],
  ['publish, of the container', filter(['publish', '80']), ''],
  ['publish, a range', filter(['publish', '8000-9000/tcp']), 'web'],
  ['publish of what is only exposed', filter(['publish', '53/udp']), ''],
  ['expose range', filter(['expose', '50-60/udp']), 'web'],
  ['ancestor', filter(['ancestor', 'busybox']), 'looping web ended created'],
  ['ancestor that is missing', filter(['ancestor', 'missing']), ''],
  ['health', filter(['health', 'healthy']), ''],
  ['is-task', filter(['is-task', 'true']), ''],
  ['isolation', filter(['isolation', 'default']), 'looping web ended created'],
])('list: %s', async (_title, options, expected) => {
  expect((await list(options)).join(' ')).toBe(expected);
});

test.each([
  ['x', '1', "invalid filter 'x'"],
  ['__proto__', '1', "invalid filter '__proto__'"],
  ['constructor', '1', "invalid filter 'constructor'"],
  ['status', 'asleep', "invalid filter 'status=asleep'"],
  ['exited', 'x', "invalid filter 'exited=x'"],
  ['health', 'x', "invalid filter 'health=x'"],
  ['is-task', 'x', "invalid filter 'is-task=[x]'"],
  ['publish', '80/x', "invalid filter 'publish=80/x'"],
  ['since', 'nobody', 'No such container: nobody'],
])('list: refuses %s=%s', async (key, value, text) => {
  await expect(list(filter([key, value]))).rejects.toThrow(text);
});

test('list: shows each state the way clients know it', async () => {
  const found = await rig.containers.list({ all: true, limit: 0, size: true, filters: new Map() });
  const shown = found.map(({ Id: _id, Created: _created, Mounts, ...rest }) => ({
    ...rest,
    Mounts: Mounts.map(({ Name: _name, Source: _source, ...mount }) => mount),
  }));
  expect(shown).toMatchSnapshot();
});

test('inspect: shows a running and an ended container completely', async () => {
  for (const name of ['web', 'ended', 'looping']) {
    const text = JSON.stringify(await rig.containers.inspect(name, { size: true }), undefined, 1)
      .replaceAll(rig.directory, '/data-root')
      .replaceAll(/[0-9a-f]{64}/g, '<id>')
      .replaceAll(/"[0-9a-f]{12}"/g, '"<short id>"')
      .replaceAll(/"20\d\d-[^"]+Z"/g, '"<time>"');
    expect(text).toMatchSnapshot(name);
  }
});

test('list and inspect: change with the container, not before', async () => {
  const before = await rig.containers.inspect('web', { size: false });
  expect(await rig.containers.inspect('web', { size: false })).toEqual(before);
  await rig.containers.rename('web', 'site');
  expect((await rig.containers.inspect('site', { size: false })).Name).toBe('/site');
  await rig.containers.stop('site', {});
  const after = await rig.containers.inspect('site', { size: false });
  expect([after.State.Status, after.NetworkSettings.Ports, after.State.Pid]).toEqual(['exited', {}, 0]);
});
