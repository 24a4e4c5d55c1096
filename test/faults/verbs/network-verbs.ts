import { expect } from 'vitest';
import type { HttpClient } from '../../support/engine/http.ts';
import type { Verb } from './verb.ts';
import {
  BODY,
  NAME,
  accept,
  createVictim,
  expectState,
  inspect,
  nothing,
  removeVictim,
  startVictim,
  unchanged,
} from '../victim.ts';

/** With everything a network can have in the kernel that another one must not meet. */
const NETWORK = {
  Name: 'blue',
  IPAM: { Config: [{ Subnet: '10.99.0.0/24' }] },
  Options: { 'com.docker.network.bridge.name': 'blue0' },
};

/** A volume with a file system of its own. */
const DISK = {
  Type: 'volume',
  Source: 'disk',
  Target: '/disk',
  VolumeOptions: { DriverConfig: { Name: 'local', Options: { type: 'tmpfs', device: 'tmpfs' } } },
};

export const networkVerbs: readonly Verb[] = [
  {
    name: 'create network',
    checkRefused: noNetwork,
    prepare: nothing,
    act: (http) => accept(http, 'POST', '/networks/create', [201, 409], NETWORK),
    verify: (http) => accept(http, 'GET', '/networks/blue', [200]),
    undo: (http) => accept(http, 'DELETE', '/networks/blue', [204, 404]),
  },
  {
    name: 'remove network',
    checkRefused: nothing,
    prepare: (http) => accept(http, 'POST', '/networks/create', [201], NETWORK),
    act: (http) => accept(http, 'DELETE', '/networks/blue', [204, 404]),
    verify: noNetwork,
    undo: nothing,
  },
  {
    name: 'connect',
    checkRefused: unchanged,
    prepare: async (http) => {
      await accept(http, 'POST', '/networks/create', [201], NETWORK);
      await startVictim(http);
    },
    act: (http) => accept(http, 'POST', '/networks/blue/connect', [200, 403], { Container: NAME }),
    verify: (http) => expectNetworks(http, ['blue', 'bridge']),
    undo: async (http) => {
      await removeVictim(http);
      await accept(http, 'DELETE', '/networks/blue', [204, 404]);
    },
  },
  {
    name: 'disconnect',
    checkRefused: unchanged,
    prepare: async (http) => {
      await accept(http, 'POST', '/networks/create', [201], NETWORK);
      await startVictim(http);
      await accept(http, 'POST', '/networks/blue/connect', [200], { Container: NAME });
    },
    act: (http) => accept(http, 'POST', '/networks/blue/disconnect', [200, 403], { Container: NAME }),
    verify: (http) => expectNetworks(http, ['bridge']),
    undo: async (http) => {
      await removeVictim(http);
      await accept(http, 'DELETE', '/networks/blue', [204, 404]);
    },
  },
  {
    name: 'start with names',
    only: /^(network|containers\.start|volume)\./,
    checkRefused: (http) => expectState(http, 'created', 'exited'),
    prepare: async (http) => {
      await accept(http, 'POST', '/networks/create', [201], NETWORK);
      await accept(http, 'POST', `/containers/create?name=${NAME}`, [201], {
        ...BODY,
        HostConfig: { ...BODY.HostConfig, NetworkMode: 'blue', Mounts: [DISK] },
      });
    },
    act: (http) => accept(http, 'POST', `/containers/${NAME}/start`, [204, 304]),
    verify: (http) => expectState(http, 'running'),
    undo: async (http) => {
      await removeWithDisk(http);
      await accept(http, 'DELETE', '/networks/blue', [204, 404]);
    },
  },
  {
    name: 'start with a disk',
    only: /^volume\.(mount|populate)/,
    checkRefused: (http) => expectState(http, 'created'),
    prepare: createWithDisk,
    act: (http) => accept(http, 'POST', `/containers/${NAME}/start`, [204, 304]),
    verify: (http) => expectState(http, 'running'),
    undo: removeWithDisk,
  },
  {
    name: 'stop with a disk',
    only: /^volume\./,
    checkRefused: nothing,
    prepare: async (http) => {
      await createWithDisk(http);
      await accept(http, 'POST', `/containers/${NAME}/start`, [204]);
    },
    act: (http) => accept(http, 'POST', `/containers/${NAME}/stop?t=0`, [204, 304]),
    verify: (http) => expectState(http, 'exited'),
    undo: removeWithDisk,
  },
  {
    name: 'start without a network',
    only: /^network\./,
    checkRefused: (http) => expectState(http, 'created'),
    prepare: (http) => createVictim(http, { HostConfig: { NetworkMode: 'none' } }),
    act: (http) => accept(http, 'POST', `/containers/${NAME}/start`, [204, 304]),
    verify: (http) => expectState(http, 'running'),
    undo: removeVictim,
  },
];

async function expectNetworks(http: HttpClient, names: string[]): Promise<void> {
  const { NetworkSettings } = await inspect(http);
  expect(Object.keys(NetworkSettings.Networks).toSorted()).toEqual(names);
}

/** The image has something at its place, which goes onto the disk. */
async function createWithDisk(http: HttpClient): Promise<void> {
  const HostConfig = { NetworkMode: 'none', Mounts: [{ ...DISK, Target: '/etc' }] };
  await createVictim(http, { HostConfig });
}

async function removeWithDisk(http: HttpClient): Promise<void> {
  await removeVictim(http);
  await accept(http, 'DELETE', '/volumes/disk?force=1', [204, 404]);
}

async function noNetwork(http: HttpClient): Promise<void> {
  await accept(http, 'GET', '/networks/blue', [404]);
}
