import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../../daemon/base/clock.ts';
import type { Logger } from '../../../../daemon/base/logger.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { ensureIngress, IngressNetwork } from '../../../../swarm/control/networks/ingress.ts';
import { initOptions } from '../../../../swarm/membership/init-options.ts';
import type { Leading } from '../../../../swarm/leader/ports.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { serviceWrites, taskRecord } from '../../../support/swarm/builders.ts';
import { controlRig, type ControlRig } from '../../../support/swarm/control-rig.ts';
import { until } from '../../../support/engine/http.ts';

let rig: ControlRig;

beforeEach(async () => {
  rig = await controlRig();
});

afterEach(() => rig[Symbol.asyncDispose]());

/** Time goes a thousand times as fast. */
const hasty: Clock = {
  nowNano: () => systemClock.nowNano(),
  monotonicMs: () => systemClock.monotonicMs(),
  setTimeout: (callback, delayMs) => systemClock.setTimeout(callback, delayMs / 1000),
};

function never(): never {
  throw new Error('a swarm has a record of itself');
}

const shown = () =>
  rig.control.networks
    .list()
    .map(({ Name, Ingress, IPAM }) => ({ Name, Ingress, Subnet: IPAM.Config[0]?.Subnet }));

test('the ingress network is made once', async () => {
  await ensureIngress(rig.context);
  await ensureIngress(rig.context);
  expect(shown()).toEqual([{ Name: 'ingress', Ingress: true, Subnet: '10.0.0.0/24' }]);
});

test('the subnet of the network that the hosts are in is not chosen, though no node has told its address', async () => {
  await using there = await controlRig({
    hostSubnets: () => ['10.0.1.7/23', '192.168.0.5/24', 'fd00::5/64'],
  });
  await ensureIngress(there.context);
  const subnets = there.control.networks.list().map(({ IPAM }) => IPAM.Config[0]?.Subnet);
  expect(subnets).toEqual(['10.0.2.0/24']);
});

test('a host whose own network is all of the pools: its address alone is kept off', async () => {
  await using there = await controlRig({ hostSubnets: () => ['10.0.0.7/8'] });
  await ensureIngress(there.context);
  const subnets = there.control.networks.list().map(({ IPAM }) => IPAM.Config[0]?.Subnet);
  expect(subnets).toEqual(['10.0.1.0/24']);
});

test('pools that overlap are taken, as by dockerd 20.10, and no two networks meet', async () => {
  await using there = await controlRig();
  const { addressPools } = initOptions({ DefaultAddrPool: ['10.1.0.0/22', '10.1.0.0/23'] });
  const { cluster } = there.context.cluster.state;
  await there.context.cluster.commit({
    conditions: [],
    parts: [put('cluster', { ...(cluster ?? never()), addressPools })],
  });
  for (const name of ['a', 'b', 'c', 'd']) {
    await there.control.networks.create({ Name: name, Driver: 'overlay' });
  }
  const subnets = there.control.networks.list().map(({ IPAM }) => IPAM.Config[0]?.Subnet ?? '');
  expect(subnets.toSorted()).toEqual(['10.1.0.0/24', '10.1.1.0/24', '10.1.2.0/24', '10.1.3.0/24']);
  await expect(there.control.networks.create({ Name: 'e', Driver: 'overlay' })).rejects.toThrow(
    'could not find an available, non-overlapping IPv4 address pool',
  );
});

test('an ingress network that cannot be made is told once for each reason, and made when it can', async () => {
  const warnings: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (of: { error: string }) => warnings.push(of.error),
  } as unknown as Logger;
  let trouble = 'one';
  let attempts = 0;
  const hostSubnets = (): string[] => {
    attempts += 1;
    if (trouble !== '') {
      throw new Error(trouble);
    }
    return [];
  };
  const loop = new IngressNetwork({ ...rig.context, clock: hasty, logger, hostSubnets });
  const ended = new AbortController();
  // Nothing else of it is looked at.
  await using _running = loop.start({ signal: ended.signal } as Leading);
  await until('five attempts', () => attempts >= 5);
  trouble = 'two';
  const before = attempts;
  await until('five more', () => attempts >= before + 5);
  expect(warnings).toEqual(['one', 'two']);
  trouble = '';
  await until('the network', () => shown().length === 1);
});

test('an ingress network that its user removed is not made again, but by hand with another subnet', async () => {
  await ensureIngress(rig.context);
  await rig.control.networks.remove('ingress');
  await ensureIngress(rig.context);
  expect(shown()).toEqual([]);
  const IPAM = { Config: [{ Subnet: '10.77.0.0/16' }] };
  await rig.control.networks.create({ Name: 'mesh', Driver: 'overlay', Ingress: true, IPAM });
  await ensureIngress(rig.context);
  expect(shown()).toEqual([{ Name: 'mesh', Ingress: true, Subnet: '10.77.0.0/16' }]);
});

test('a service shows its virtual addresses and a task its attachments, of networks that are there', async () => {
  await ensureIngress(rig.context);
  const { Id: network } = await rig.control.networks.create({ Name: 'front', Driver: 'overlay' });
  const ingress = rig.control.networks.list().find(({ Ingress }) => Ingress)?.Id ?? '';
  const networks = [
    { network, addresses: ['10.0.1.5'] },
    { network: ingress, addresses: ['10.0.0.9'] },
    { network: 'gone', addresses: ['10.0.3.5'] },
  ];
  await rig.context.cluster.commit({
    conditions: [],
    parts: [
      ...serviceWrites('web'),
      put('serviceRun', { id: 'web', vips: networks }),
      put('task', taskRecord('t1', 'web', { slot: 1, networks })),
    ],
  });
  const service = await rig.control.services.inspect('web', { insertDefaults: false });
  expect(service.Endpoint.VirtualIPs).toEqual([
    { NetworkID: network, Addr: '10.0.1.5/24' },
    { NetworkID: ingress, Addr: '10.0.0.9/24' },
  ]);
  const { NetworksAttachments: attachments = [] } = await rig.control.tasks.inspect('t1');
  expect(attachments.map(({ Network, Addresses }) => [Network.ID, Addresses])).toEqual([
    [ingress, ['10.0.0.9/24']],
    [network, ['10.0.1.5/24']],
  ]);
  expect(attachments[1]?.Network).toMatchObject({
    Spec: { Name: 'front', Scope: 'swarm' },
    DriverState: { Name: 'overlay' },
    IPAMOptions: { Configs: [{ Subnet: '10.0.1.0/24', Gateway: '10.0.1.1' }] },
  });
});
