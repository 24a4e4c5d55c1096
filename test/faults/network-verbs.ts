import { expect } from 'vitest';
import type { ContainerInspect } from '../../api/types/container.ts';
import type { HttpClient } from '../support/http.ts';
import type { PublicView, Verb } from './verbs.ts';

/** What the verbs of networks need of the others: the container that all of them work on. */
export interface Victim {
  name: string;
  body: { HostConfig: object };
  start(http: HttpClient): Promise<void>;
  remove(http: HttpClient): Promise<void>;
  inspect(http: HttpClient): Promise<ContainerInspect>;
  expectState(http: HttpClient, ...statuses: string[]): Promise<void>;
  unchanged(http: HttpClient, before: PublicView): Promise<void>;
  accept(
    http: HttpClient,
    method: string,
    path: string,
    statuses: readonly number[],
    body?: object,
  ): Promise<void>;
}

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

export function networkVerbs(victim: Victim): Verb[] {
  return [
    {
      name: 'create network',
      checkRefused: (http) => noNetwork(victim, http),
      prepare: () => Promise.resolve(),
      act: (http) => victim.accept(http, 'POST', '/networks/create', [201, 409], NETWORK),
      verify: (http) => victim.accept(http, 'GET', '/networks/blue', [200]),
      undo: (http) => victim.accept(http, 'DELETE', '/networks/blue', [204, 404]),
    },
    {
      name: 'remove network',
      checkRefused: () => Promise.resolve(),
      prepare: (http) => victim.accept(http, 'POST', '/networks/create', [201], NETWORK),
      act: (http) => victim.accept(http, 'DELETE', '/networks/blue', [204, 404]),
      verify: (http) => noNetwork(victim, http),
      undo: () => Promise.resolve(),
    },
    {
      name: 'connect',
      checkRefused: (http, before) => victim.unchanged(http, before),
      prepare: async (http) => {
        await victim.accept(http, 'POST', '/networks/create', [201], NETWORK);
        await victim.start(http);
      },
      act: (http) =>
        victim.accept(http, 'POST', '/networks/blue/connect', [200, 403], { Container: victim.name }),
      verify: (http) => expectNetworks(victim, http, ['blue', 'bridge']),
      undo: async (http) => {
        await victim.remove(http);
        await victim.accept(http, 'DELETE', '/networks/blue', [204, 404]);
      },
    },
    {
      name: 'disconnect',
      checkRefused: (http, before) => victim.unchanged(http, before),
      prepare: async (http) => {
        await victim.accept(http, 'POST', '/networks/create', [201], NETWORK);
        await victim.start(http);
        await victim.accept(http, 'POST', '/networks/blue/connect', [200], { Container: victim.name });
      },
      act: (http) =>
        victim.accept(http, 'POST', '/networks/blue/disconnect', [200, 403], { Container: victim.name }),
      verify: (http) => expectNetworks(victim, http, ['bridge']),
      undo: async (http) => {
        await victim.remove(http);
        await victim.accept(http, 'DELETE', '/networks/blue', [204, 404]);
      },
    },
    {
      name: 'start with names',
      checkRefused: (http) => victim.expectState(http, 'created', 'exited'),
      prepare: async (http) => {
        await victim.accept(http, 'POST', '/networks/create', [201], NETWORK);
        await victim.accept(http, 'POST', `/containers/create?name=${victim.name}`, [201], {
          ...victim.body,
          HostConfig: { ...victim.body.HostConfig, NetworkMode: 'blue', Mounts: [DISK] },
        });
      },
      act: (http) => victim.accept(http, 'POST', `/containers/${victim.name}/start`, [204, 304]),
      verify: (http) => victim.expectState(http, 'running'),
      undo: async (http) => {
        await victim.remove(http);
        await victim.accept(http, 'DELETE', '/networks/blue', [204, 404]);
      },
    },
  ];
}

async function expectNetworks(victim: Victim, http: HttpClient, names: string[]): Promise<void> {
  const { NetworkSettings } = await victim.inspect(http);
  expect(Object.keys(NetworkSettings.Networks).toSorted()).toEqual(names);
}

async function noNetwork(victim: Victim, http: HttpClient): Promise<void> {
  await victim.accept(http, 'GET', '/networks/blue', [404]);
}
