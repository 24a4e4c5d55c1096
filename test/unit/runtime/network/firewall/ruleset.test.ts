import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../../../../daemon/base/addresses/ipv4.ts';
import {
  bridgeCommands,
  elementKey,
  expectedElements,
  meshChangeCommands,
  portCommands,
  rebuildCommands,
} from '../../../../../runtime/network/firewall/ruleset.ts';
import type { MeshEntry, PublishedPort } from '../../../../../runtime/network/firewall/ruleset.ts';

const bridge = {
  name: 'berth0',
  addresses: [{ address: parseIpv4('172.17.0.1') ?? 0, prefixLength: 16 }],
  mtu: 1500,
  internal: false,
  icc: true,
  masquerade: true,
};

function port(hostIp: string, hostPort: number, protocol: 'tcp' | 'udp' = 'tcp'): PublishedPort {
  return {
    protocol,
    hostAddress: parseIpv4(hostIp) ?? 0,
    hostPort,
    address: parseIpv4('172.17.0.2') ?? 0,
    containerPort: 80,
  };
}

describe('element commands', () => {
  it('put a port of every host address into one map and of a single one into the other', () => {
    const ports = [port('0.0.0.0', 8080), port('127.0.0.1', 8081), port('0.0.0.0', 53, 'udp')];
    expect(portCommands('add', 't', ports).split('\n')).toEqual([
      'add element ip t published_any { tcp . 8080 : 172.17.0.2 . 80, udp . 53 : 172.17.0.2 . 80 }',
      'add element ip t published_at { tcp . 127.0.0.1 . 8081 : 172.17.0.2 . 80 }',
    ]);
    expect(portCommands('delete', 't', ports).split('\n')).toEqual([
      'delete element ip t published_any { tcp . 8080, udp . 53 }',
      'delete element ip t published_at { tcp . 127.0.0.1 . 8081 }',
    ]);
    expect(ports.map(elementKey)).toEqual(['tcp . 8080', 'tcp . 127.0.0.1 . 8081', 'udp . 53']);
  });
});

describe('rebuildCommands()', () => {
  it("never touches the administrator's chain and ends with the elements", () => {
    const commands = rebuildCommands('berth', {
      bridges: [bridge],
      ports: [port('0.0.0.0', 8080)],
      ipv6: false,
    });
    expect(commands.match(/^(flush|delete) .*/gm)).toEqual([
      'flush chain ip berth guard',
      'flush chain ip berth inside',
      'flush chain ip berth inbound',
      'flush chain ip berth local',
      'flush chain ip berth publish',
      'flush chain ip berth input',
      'flush chain ip berth forward',
      'flush chain ip berth outbound',
      'flush map ip berth published_any',
      'flush map ip berth published_at',
      'flush map ip berth sources',
      'flush set ip berth bridges',
      'flush set ip berth internal',
      'flush set ip berth enclosed',
      'flush set ip berth subnets',
      'flush set ip berth homes',
      'flush set ip berth masqueraded',
      'flush set ip berth closed',
      'flush set ip berth together',
    ]);
    expect(commands.split('\n').at(-1)).toBe(
      'add element ip berth published_any { tcp . 8080 : 172.17.0.2 . 80 }',
    );
  });

  it('makes the IPv6 table of the same form when it is wanted', () => {
    const commands = rebuildCommands('berth', { bridges: [], ports: [], ipv6: true });
    const of = (family: string): string[] =>
      commands.match(new RegExp(`^flush \\w+ ${family} .*`, 'gm')) ?? [];
    expect(of('ip6').map((line) => line.replace(' ip6 ', ' ip '))).toEqual(of('ip'));
  });
});

describe('bridgeCommands()', () => {
  it('make a bridge elements of sets, each in the table of its family', () => {
    const dual = {
      ...bridge,
      addresses: [
        ...bridge.addresses,
        { address: 0xfd00_0000_0000_0000_0000_0000_0000_0001n, prefixLength: 64 },
      ],
    };
    expect(bridgeCommands('add', 't', dual, ['ip', 'ip6']).split('\n')).toEqual([
      'add element ip t bridges { "berth0" }',
      'add element ip t together { "berth0" . "berth0" }',
      'add element ip t subnets { 172.17.0.0/16 }',
      'add element ip t homes { "berth0" . 172.17.0.0/16 }',
      'add element ip t masqueraded { 172.17.0.0/16 }',
      'add element ip t closed { 172.17.0.0/16 }',
      'add element ip6 t bridges { "berth0" }',
      'add element ip6 t together { "berth0" . "berth0" }',
      'add element ip6 t subnets { fd00::/64 }',
      'add element ip6 t homes { "berth0" . fd00::/64 }',
      'add element ip6 t masqueraded { fd00::/64 }',
      'add element ip6 t closed { fd00::/64 }',
    ]);
  });

  it('give who leaves the source address that its network names', () => {
    const seen = { ...bridge, sources: [parseIpv4('10.0.0.9') ?? 0, 0xfd00n << 112n] };
    expect(bridgeCommands('add', 't', seen, ['ip']).split('\n')).toEqual([
      'add element ip t bridges { "berth0" }',
      'add element ip t together { "berth0" . "berth0" }',
      'add element ip t subnets { 172.17.0.0/16 }',
      'add element ip t homes { "berth0" . 172.17.0.0/16 }',
      'add element ip t sources { 172.17.0.0/16 : 10.0.0.9 }',
      'add element ip t closed { 172.17.0.0/16 }',
    ]);
  });

  it('lead nobody out of an internal network, nor containers to each other without icc', () => {
    expect(
      bridgeCommands('delete', 't', { ...bridge, internal: true, icc: false }, ['ip']).split('\n'),
    ).toEqual([
      'delete element ip t bridges { "berth0" }',
      'delete element ip t internal { "berth0" }',
      'delete element ip t enclosed { "berth0" . "berth0" }',
      'delete element ip t subnets { 172.17.0.0/16 }',
      'delete element ip t homes { "berth0" . 172.17.0.0/16 }',
      'delete element ip t closed { 172.17.0.0/16 }',
    ]);
  });
});

describe('meshChangeCommands()', () => {
  const way = { link: 'bringress', addresses: [parseIpv4('169.254.64.2') ?? 0, 0xfdn << 120n] };
  const mesh = (...hostPorts: number[]): MeshEntry => ({
    way,
    ports: hostPorts.map((hostPort) => ({ protocol: 'tcp', hostPort })),
  });

  it('lead ports to the end of the link that has the same family, at the same port', () => {
    expect(meshChangeCommands('t', mesh(80, 81), mesh(81, 82), ['ip', 'ip6']).split('\n')).toEqual([
      'delete element ip t mesh { tcp . 80 }',
      'delete element ip6 t mesh { tcp . 80 }',
      'add element ip t mesh { tcp . 82 : 169.254.64.2 . 82 }',
      'add element ip6 t mesh { tcp . 82 : fd00:: . 82 }',
    ]);
    expect(meshChangeCommands('t', mesh(80), mesh(80), ['ip']).trim()).toBe('');
  });

  it('throw away what is there when that is not known, or leads another way', () => {
    const other = { ...mesh(80), way: { ...way, link: 'other' } };
    for (const before of [undefined, other]) {
      expect(meshChangeCommands('t', before, mesh(80), ['ip']).split('\n')).toEqual([
        'flush map ip t mesh',
        'flush set ip t ways',
        'add element ip t ways { "bringress" }',
        'add element ip t mesh { tcp . 80 : 169.254.64.2 . 80 }',
      ]);
    }
    const none = { way: undefined, ports: [] };
    expect(meshChangeCommands('t', mesh(80), none, ['ip']).trim().split('\n')).toEqual([
      'flush map ip t mesh',
      'flush set ip t ways',
    ]);
  });

  it('are part of the whole only where the mesh is known, and close the way in each family', () => {
    const contents = { bridges: [], ports: [], ipv6: true };
    expect(rebuildCommands('t', contents)).not.toMatch(/flush (?:map|set) \S+ t (?:mesh|ways)/);
    expect(rebuildCommands('t', { ...contents, mesh: mesh(80) })).toMatch(/flush map ip6 t mesh/);
    const four = { way: { ...way, addresses: way.addresses.slice(0, 1) }, ports: mesh(80).ports };
    const members = expectedElements('ip6', { ...contents, mesh: four });
    expect(members.filter(({ members: each }) => each.length > 0)).toEqual([
      { set: 'ways', members: ['"bringress"'] },
    ]);
  });
});
