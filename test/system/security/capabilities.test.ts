import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import type { HostConfig } from '../../../api/types/host-config.ts';
import { describeEngine } from '../../support/engine/engine.ts';

/** Bits of linux/capability.h. */
const BIT = {
  CHOWN: 0,
  KILL: 5,
  NET_ADMIN: 12,
  NET_RAW: 13,
  SYS_ADMIN: 21,
  SYS_TIME: 25,
  CHECKPOINT_RESTORE: 40,
};
const bit = (name: keyof typeof BIT): bigint => 1n << BigInt(BIT[name]);
/** The fourteen that every Docker-compatible engine gives. */
const DEFAULT = 0xa80425fbn;
/** What this machine lets its processes hand on: nested ones lack CAP_SYS_RESOURCE and more. */
const HOST = maskOf(readFileSync('/proc/self/status', 'utf8'), 'CapBnd');

interface Sets {
  inheritable: bigint;
  permitted: bigint;
  effective: bigint;
  bounding: bigint;
  ambient: bigint;
}

function maskOf(status: string, line: string): bigint {
  return BigInt(`0x${new RegExp(`^${line}:\\s*([0-9a-f]+)$`, 'm').exec(status)?.[1] ?? ''}`);
}

function setsOf(status: string): Sets {
  return {
    inheritable: maskOf(status, 'CapInh'),
    permitted: maskOf(status, 'CapPrm'),
    effective: maskOf(status, 'CapEff'),
    bounding: maskOf(status, 'CapBnd'),
    ambient: maskOf(status, 'CapAmb'),
  };
}

/** Of root everything that may be; of anybody else nothing, though a set-user-id program could gain it. */
const rootHas = (mask: bigint): Sets => ({
  inheritable: 0n,
  permitted: mask & HOST,
  effective: mask & HOST,
  bounding: mask & HOST,
  ambient: 0n,
});
const userHas = (mask: bigint): Sets => ({ ...rootHas(mask), permitted: 0n, effective: 0n });
const STATUS = ['cat', '/proc/self/status'];

describeEngine('capabilities', (engine) => {
  const containers: [string, HostConfig, ContainerCreateRequest, Sets][] = [
    ['root', {}, {}, rootHas(DEFAULT)],
    ['uid 1000', {}, { User: '1000' }, userHas(DEFAULT)],
    ['a user by name', {}, { User: 'berth' }, userHas(DEFAULT)],
    ['uid 0 by number in another group', {}, { User: '0:1000' }, rootHas(DEFAULT)],
    ['no-new-privileges', { SecurityOpt: ['no-new-privileges'] }, {}, rootHas(DEFAULT)],
    [
      'added',
      { CapAdd: ['NET_ADMIN', 'cap_sys_time'] },
      {},
      rootHas(DEFAULT | bit('NET_ADMIN') | bit('SYS_TIME')),
    ],
    ['added for uid 1000', { CapAdd: ['NET_ADMIN'] }, { User: '1000' }, userHas(DEFAULT | bit('NET_ADMIN'))],
    ['dropped', { CapDrop: ['CHOWN', 'NET_RAW'] }, {}, rootHas(DEFAULT & ~bit('CHOWN') & ~bit('NET_RAW'))],
    [
      'added and dropped',
      { CapAdd: ['SYS_ADMIN'], CapDrop: ['SYS_ADMIN'] },
      {},
      rootHas(DEFAULT | bit('SYS_ADMIN')),
    ],
    ['all dropped', { CapDrop: ['ALL'] }, {}, rootHas(0n)],
    ['all dropped but one', { CapDrop: ['all'], CapAdd: ['KILL'] }, {}, rootHas(bit('KILL'))],
    ['all added', { CapAdd: ['ALL'] }, {}, rootHas(HOST)],
    ['all added but one', { CapAdd: ['ALL'], CapDrop: ['SYS_ADMIN'] }, {}, rootHas(HOST & ~bit('SYS_ADMIN'))],
    ['privileged', { Privileged: true }, {}, rootHas(HOST)],
    ['privileged as uid 1000', { Privileged: true }, { User: '1000' }, userHas(HOST)],
  ];

  test.each(containers)('class 5: %s', async (_who, host, more, sets) => {
    expect(setsOf((await engine.run(STATUS, host, more)).stdout)).toEqual(sets);
  });

  test('class 5: an exec has what the container’s first process has, by its own user', async () => {
    const exec = async (id: string, more: object): Promise<Sets> =>
      setsOf((await engine.exec(id, STATUS, more)).stdout);
    const root = await engine.start(['sleep', '600'], { CapDrop: ['CHOWN'] });
    const left = DEFAULT & ~bit('CHOWN');
    expect(await exec(root, {})).toEqual(rootHas(left));
    expect(await exec(root, { User: '1000' })).toEqual(userHas(left));
    expect(await exec(root, { User: '1000:0' })).toEqual(userHas(left));
    expect(await exec(root, { Privileged: true })).toEqual(rootHas(HOST));
    expect(await exec(root, { Privileged: true, User: '1000' })).toEqual(userHas(HOST));
    const user = await engine.start(['sleep', '600'], {}, { User: '1000' });
    expect(await exec(user, {})).toEqual(userHas(DEFAULT));
    expect(await exec(user, { User: '0' })).toEqual(rootHas(DEFAULT));
    const nothing = await engine.start(['sleep', '600'], { CapDrop: ['ALL'] });
    expect(await exec(nothing, {})).toEqual(rootHas(0n));
  });

  test.each(['FLY', 'CAP_', '', 'ALL CHOWN', '__proto__', 'constructor', 'CAP_CAP_CHOWN', '0'])(
    'class 5: the capability %j does not exist and is refused',
    async (name) => {
      for (const host of [{ CapAdd: [name] }, { CapDrop: [name] }]) {
        const answer = await engine.http.request('POST', '/containers/create', {
          body: { Image: 'busybox', HostConfig: host },
        });
        expect([host, answer.status]).toEqual([host, 400]);
      }
    },
  );
});
