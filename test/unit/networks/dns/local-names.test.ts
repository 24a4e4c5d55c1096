import { describe, expect, it } from 'vitest';
import { formatIp, parseIp } from '../../../../daemon/base/addresses/ip.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { localAnswer } from '../../../../daemon/networks/dns/local-names.ts';
import type { VisibleNetwork } from '../../../../daemon/networks/dns/local-names.ts';
import { TYPE } from '../../../../daemon/networks/dns/message.ts';
import { newNetwork } from '../../../../daemon/networks/network.ts';
import type { Network, NetworkMember } from '../../../../daemon/networks/network.ts';
import { NetworkNames } from '../../../../daemon/networks/overlay/network-names.ts';

const SPEC = {
  internal: false,
  attachable: true,
  enableIPv6: false,
  ipam: { driver: 'default', options: null, config: [] },
  options: {},
  labels: {},
};

/** A network with containers of this host: `name=address`. */
function networkOf(name: string, ...containers: string[]): Network {
  const network = newNetwork({
    id: `id-${name}`,
    name,
    driver: 'bridge',
    createdNano: 0n,
    isBuiltIn: false,
    spec: SPEC,
  });
  for (const text of containers) {
    const [key = '', address = ''] = text.split('=');
    const endpoint = { IPAddress: address, IPPrefixLen: 24, DNSNames: [key] };
    const member: NetworkMember = { containerId: address, containerName: key, endpoint };
    network.members.set(address, member);
    network.names.set(key, (network.names.get(key) ?? new Set()).add(member));
    network.addresses.set(parseIp(address) ?? expect.fail(address), address);
  }
  return network;
}

function overlay(): Network {
  // The engine gives the container of a task the name of its service.
  const network = networkOf('Blue', 'web=10.0.1.3', 'late=10.0.1.9');
  const names = new NetworkNames();
  names.apply({
    full: true,
    endpoints: [
      {
        id: 't1',
        addresses: ['10.0.1.3'],
        names: ['web.1.t1'],
        service: 's1',
        isReady: true,
        nodeAddr: '192.0.2.2',
      },
      {
        id: 't2',
        addresses: ['10.0.1.4'],
        names: ['web.2.t2'],
        service: 's1',
        isReady: true,
        nodeAddr: '192.0.2.2',
      },
      {
        id: 't3',
        addresses: ['10.0.1.5'],
        names: ['db.1.t3'],
        service: 's2',
        isReady: true,
        nodeAddr: '192.0.2.2',
      },
    ],
    removedEndpoints: [],
    services: [
      { id: 's1', name: 'web', vips: ['10.0.1.2'], aliases: [] },
      { id: 's2', name: 'db', vips: [], aliases: [] },
    ],
    removedServices: [],
  });
  network.swarmNames = names;
  return network;
}

function seen(network: Network, links: [string, string][] = []): VisibleNetwork {
  return { network, links: new Map(links) };
}

/** `60: 10.0.1.2`, or `nobody`. */
function asked(networks: VisibleNetwork[], name: string, type: number = TYPE.a): string {
  const answer = localAnswer(networks, { name, type }, () => 0.999);
  const texts = answer?.records.map((record) =>
    record.kind === 'pointer' ? record.name : formatIp(record.address),
  );
  return answer === undefined ? 'nobody' : `${answer.ttlS}: ${texts?.join(' ')}`;
}

describe('localAnswer()', () => {
  it.each([
    ['web', TYPE.a, '60: 10.0.1.2'],
    ['web.blue', TYPE.a, '60: 10.0.1.2'],
    ['tasks.web.blue', TYPE.a, '5: 10.0.1.3 10.0.1.4'],
    ['web.2.t2.blue', TYPE.a, '60: 10.0.1.4'],
    ['db', TYPE.a, '5: 10.0.1.5'],
    ['late', TYPE.a, '60: 10.0.1.9'],
    ['web.red', TYPE.a, 'nobody'],
    ['web', TYPE.aaaa, '60: '],
    ['tasks.web', TYPE.aaaa, '5: '],
    ['late', TYPE.aaaa, '60: '],
    ['4.1.0.10.in-addr.arpa', TYPE.ptr, '60: web.2.t2.Blue'],
    ['2.1.0.10.in-addr.arpa', TYPE.ptr, '60: web.Blue'],
    ['9.1.0.10.in-addr.arpa', TYPE.ptr, '60: late.Blue'],
    ['8.1.0.10.in-addr.arpa', TYPE.ptr, 'nobody'],
  ])('a network of the swarm: %s, type %i: %j', (name, type, answer) => {
    expect(asked([seen(overlay())], name, type)).toBe(answer);
  });

  it.each([
    ['web', '60: 10.0.1.2 172.18.0.2'],
    ['web.red', '60: 172.18.0.2'],
    ['mine', '60: 172.18.0.3'],
    ['db', '5: 10.0.1.5'],
  ])('a container in two networks: %s: %j', (name, answer) => {
    const red = networkOf('red', 'web=172.18.0.2', 'two=172.18.0.3');
    expect(asked([seen(overlay()), seen(red, [['mine', 'two']])], name)).toBe(answer);
  });

  it.each([
    ['web', '60: 10.0.1.2'],
    ['tasks.web', '5: 10.0.1.3 10.0.1.4'],
    ['mail', '60: 10.0.0.4'],
    ['nobody', 'nobody'],
  ])('the ingress network answers what no other one knows: %s: %j', (name, answer) => {
    const ingress = networkOf('ingress', 'web=10.0.0.5', 'tasks.web=10.0.0.5', 'mail=10.0.0.4');
    const first: VisibleNetwork = seen({ ...ingress, spec: { ...SPEC, ingress: true } });
    expect(asked([first, seen(overlay())], name)).toBe(answer);
    expect(asked([seen(overlay()), first], name)).toBe(answer);
  });

  it.each([
    ...['web', 'web.blue', 'tasks.web', 'tasks.web.blue', 'web.2.t2', 'db', 'late'].map((name) => [
      name,
      TYPE.a,
    ]),
    ...['2.1.0.10.in-addr.arpa', '3.1.0.10.in-addr.arpa', '9.1.0.10.in-addr.arpa'].map((name) => [
      name,
      TYPE.ptr,
    ]),
  ] as [string, number][])(
    'a container that is not in a network hears nothing of it: %s, type %i',
    (name, type) => {
      expect(asked([seen(overlay())], name, type)).not.toBe('nobody');
      expect(asked([seen(networkOf('red', 'mine=10.9.0.2'))], name, type)).toBe('nobody');
    },
  );

  it('a link leads to a service', () => {
    expect(asked([seen(overlay(), [['front', 'web']])], 'front')).toBe('60: 10.0.1.2');
  });

  it('several addresses come in any order, each once', () => {
    const networks = [seen(networkOf('red', 'web=10.0.0.1')), seen(networkOf('blue', 'web=10.0.0.2'))];
    const inOrder = (...numbers: number[]): string[] | undefined =>
      localAnswer(networks, { name: 'web', type: TYPE.a }, () => numbers.shift() ?? 1)?.records.map(
        (record) => (record.kind === 'pointer' ? record.name : formatIp(record.address)),
      );
    expect(inOrder(0.1, 0.2)).toEqual(['10.0.0.1', '10.0.0.2']);
    expect(inOrder(0.2, 0.1)).toEqual(['10.0.0.2', '10.0.0.1']);
    expect(asked([...networks, ...networks], 'web')).toBe(`${limits.dnsLocalTtlS}: 10.0.0.1 10.0.0.2`);
  });
});
