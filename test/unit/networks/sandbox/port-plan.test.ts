import { describe, expect, it } from 'vitest';
import { planPorts } from '../../../../daemon/networks/sandbox/port-plan.ts';
import type { PortRequest } from '../../../../daemon/networks/sandbox/port-plan.ts';

function plan(wishes: Partial<PortRequest>) {
  return planPorts({ exposedPorts: [], portBindings: {}, publishAllPorts: false, ...wishes }, '0.0.0.0');
}

describe('planPorts()', () => {
  it('orders ports by number and takes single, ranged and ephemeral host ports', () => {
    const { ports, bindings } = plan({
      exposedPorts: ['8000-8001/tcp', '443/tcp'],
      portBindings: {
        '8000/tcp': [{ HostIp: '', HostPort: '9000-9010' }],
        '53/udp': [{ HostIp: '127.0.0.1', HostPort: '53' }, { HostPort: '' }],
        '80': [{ HostPort: '0' }],
        '90/tcp': null,
      },
    });
    expect(ports).toEqual(['53/udp', '80/tcp', '90/tcp', '443/tcp', '8000/tcp', '8001/tcp']);
    expect(bindings.map(({ port, hostAddresses, hostPorts }) => [port, hostAddresses, hostPorts])).toEqual([
      ['53/udp', [2_130_706_433], { first: 53, last: 53 }],
      ['53/udp', [0, 0n], undefined],
      ['80/tcp', [0, 0n], undefined],
      ['8000/tcp', [0, 0n], { first: 9000, last: 9010 }],
    ]);
  });

  it('publishes all exposed ports that have no binding when asked to', () => {
    const { bindings } = plan({
      exposedPorts: ['80/tcp', '81/tcp'],
      portBindings: { '80/tcp': [{ HostPort: '8080' }] },
      publishAllPorts: true,
    });
    expect(bindings.map(({ port, hostPorts }) => [port, hostPorts?.first])).toEqual([
      ['80/tcp', 8080],
      ['81/tcp', undefined],
    ]);
  });

  it.each<[Partial<PortRequest>, string]>([
    [{ exposedPorts: ['http/tcp'] }, 'ExposedPorts: invalid port specification: "http/tcp"'],
    [{ exposedPorts: ['0/tcp'] }, 'ExposedPorts: invalid port specification: "0/tcp"'],
    [{ exposedPorts: ['65536/tcp'] }, 'ExposedPorts: invalid port specification: "65536/tcp"'],
    [{ exposedPorts: ['90-80/tcp'] }, 'ExposedPorts: invalid port specification: "90-80/tcp"'],
    [{ exposedPorts: ['80/tcp/udp'] }, 'ExposedPorts: invalid port specification: "80/tcp/udp"'],
    [{ exposedPorts: ['80/icmp'] }, 'ExposedPorts: invalid proto: "icmp" in "80/icmp"'],
    [
      { portBindings: { '80-81/tcp': [] } },
      'PortBindings: invalid port specification: "80-81/tcp": expected one port',
    ],
    [bound({ HostPort: 'x' }), 'PortBindings: invalid port specification: "x" in HostPort'],
    [bound({ HostPort: '80-70' }), 'PortBindings: invalid port specification: "80-70" in HostPort'],
    [bound({ HostPort: '0-10' }), 'PortBindings: invalid port specification: "0-10" in HostPort'],
    [bound({ HostPort: '-1' }), 'PortBindings: invalid port specification: "-1" in HostPort'],
    [bound({ HostIp: 'localhost' }), 'PortBindings: HostIp "localhost": not an IP address'],
  ])('refuses %o', (wishes, message) => {
    expect(() => plan(wishes)).toThrow(message);
  });
});

function bound(binding: { HostIp?: string; HostPort?: string }): Partial<PortRequest> {
  return { portBindings: { '80/tcp': [binding] } };
}
