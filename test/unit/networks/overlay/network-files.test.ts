import { armHere } from '../../../support/fakes/failpoints.ts';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AssignedNetwork } from '../../../../api/types/swarm/overlay.ts';
import { NetworkFiles } from '../../../../daemon/networks/overlay/network-files.ts';
import { NetworkState } from '../../../../daemon/networks/overlay/network-state.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { assignedNetwork, endpointOf, serviceOf } from '../../../support/swarm/overlay-objects.ts';

const DATA_PATH = { addr: '192.0.2.1', port: 4789 };

let directory: string;
let clock: ManualClock;
/** Messages of the log. */
let logged: string[];

beforeEach(() => {
  armHere('');
  clock = new ManualClock();
  directory = join(mkdtempSync(join(tmpdir(), 'berth-test-networks-')), 'networks');
  logged = [];
});

afterEach(() => rmSync(join(directory, '..'), { recursive: true, force: true }));

function write(line: string): void {
  logged.push((JSON.parse(line) as { msg: string }).msg);
}

function files(): NetworkFiles {
  return new NetworkFiles({ directory, clock, log: pino({ level: 'warn' }, { write }) });
}

function stateOf(given: Partial<AssignedNetwork> = {}): NetworkState {
  const state = new NetworkState(assignedNetwork(given));
  state.apply({
    endpoints: [endpointOf('t1', 3)],
    removedEndpoints: [],
    services: [serviceOf('s1', 2)],
    removedServices: [],
  });
  return state;
}

/** Names of the networks that a daemon which starts finds. */
async function found(): Promise<string[]> {
  return (await files().load()).map(({ state }) => state.network.name).toSorted();
}

/** All files, one after the other. */
function onDisk(): string {
  return readdirSync(directory)
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('');
}

async function saved(...states: NetworkState[]): Promise<NetworkFiles> {
  const own = files();
  await own.load();
  states.forEach((state) => own.save(state, () => DATA_PATH));
  await own.flush();
  return own;
}

describe('NetworkFiles', () => {
  it('what was saved is loaded', async () => {
    const state = stateOf();
    await saved(state);
    expect(await files().load()).toEqual([{ state, dataPath: DATA_PATH }]);
  });

  it('changes that follow each other are one write, of what is then', async () => {
    const state = stateOf();
    const own = await saved();
    armHere('network.overlay.file=error(second)@2');
    own.save(state, () => DATA_PATH);
    own.save(state, () => DATA_PATH);
    state.network = assignedNetwork({ name: 'later' });
    await own.flush();
    expect([await found(), logged]).toEqual([['later'], []]);
  });

  it('a large network that changes again waits for its turn, and for no turn once somebody waits for it', async () => {
    const state = stateOf();
    const own = await saved();
    const names = Array.from({ length: 20_000 }, (_, index) => `name-of-it-${index}`);
    const change = (label: string): void => {
      state.network = assignedNetwork({ labels: { label, names: names.join() } });
      own.save(state, () => DATA_PATH);
    };
    change('first');
    await expect.poll(onDisk).toContain('"first"');
    change('second');
    await new Promise((resolve) => void setTimeout(resolve, 50));
    expect(onDisk()).toContain('"first"');
    await clock.advance(1_000);
    await expect.poll(onDisk).toContain('"second"');
    change('third');
    await own.flush();
    expect(onDisk()).toContain('"third"');
  });

  it('what is saved once all is written is written too', async () => {
    const own = await saved(stateOf());
    await Promise.all([own.flush(), own.flush()]);
    own.save(stateOf({ name: 'later' }), () => DATA_PATH);
    await own.flush();
    expect(await found()).toEqual(['later']);
  });

  it('a network that was removed is gone', async () => {
    const own = await saved(stateOf(), stateOf({ id: 'net2', name: 'front' }));
    own.remove('net1');
    await own.flush();
    expect(await found()).toEqual(['front']);
  });

  it.each(['network.overlay.file', 'network.overlay.rename'])(
    'a write that fails at %s leaves the one before, is logged, and the next one succeeds',
    async (name) => {
      const own = await saved(stateOf());
      armHere(`${name}=errno(ENOSPC)@1`);
      own.save(stateOf({ name: 'later' }), () => DATA_PATH);
      await own.flush();
      const after = await found();
      own.save(stateOf({ name: 'last' }), () => DATA_PATH);
      await own.flush();
      expect([after, await found(), logged]).toEqual([
        ['back'],
        ['last'],
        ['what is known of a network could not be written'],
      ]);
    },
  );

  it.each([
    ['no JSON', '{"network'],
    ['nothing', ''],
    ['null', 'null'],
    ['no network', '{}'],
    ['a network of another name', JSON.stringify({ network: assignedNetwork({ id: 'net8' }) })],
    [
      'a network without parts',
      JSON.stringify({ network: assignedNetwork({ id: 'net9' }), dataPath: DATA_PATH }),
    ],
  ])('a file that holds %s is left out, logged and removed', async (_title, text) => {
    await saved(stateOf());
    writeFileSync(join(directory, 'net9.json'), text);
    expect([await found(), readdirSync(directory), logged]).toEqual([
      ['back'],
      ['net1.json'],
      ['a network of the swarm is left out and its file removed'],
    ]);
  });

  it('a directory in the place of a file, and what a daemon that died was writing, go', async () => {
    await saved(stateOf());
    mkdirSync(join(directory, 'net9.json'));
    writeFileSync(
      join(directory, 'net1.json.new'),
      readFileSync(join(directory, 'net1.json')).subarray(0, 20),
    );
    expect([await found(), readdirSync(directory)]).toEqual([['back'], ['net1.json']]);
  });
});
