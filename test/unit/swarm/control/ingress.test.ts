import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureIngress } from '../../../../swarm/control/networks/ingress.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { serviceWrites, taskRecord } from '../../../support/swarm/builders.ts';
import { controlRig, type ControlRig } from '../../../support/swarm/control-rig.ts';

let rig: ControlRig;

beforeEach(async () => {
  rig = await controlRig();
});

afterEach(() => rig[Symbol.asyncDispose]());

const shown = () =>
  rig.control.networks
    .list()
    .map(({ Name, Ingress, IPAM }) => ({ Name, Ingress, Subnet: IPAM.Config[0]?.Subnet }));

test('the ingress network is made once', async () => {
  await ensureIngress(rig.context);
  await ensureIngress(rig.context);
  expect(shown()).toEqual([{ Name: 'ingress', Ingress: true, Subnet: '10.0.0.0/24' }]);
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
