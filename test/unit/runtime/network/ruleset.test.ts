import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../../../daemon/base/ipv4.ts';
import {
  addCommands,
  deleteCommands,
  elementKey,
  rebuildCommands,
} from '../../../../runtime/network/ruleset.ts';
import type { PublishedPort } from '../../../../runtime/network/ruleset.ts';

const bridge = { name: 'berth0', gateway: parseIpv4('172.17.0.1') ?? 0, prefixLength: 16, mtu: 1500 };

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
    expect(addCommands('t', ports).split('\n')).toEqual([
      'add element ip t published_any { tcp . 8080 : 172.17.0.2 . 80, udp . 53 : 172.17.0.2 . 80 }',
      'add element ip t published_at { tcp . 127.0.0.1 . 8081 : 172.17.0.2 . 80 }',
    ]);
    expect(deleteCommands('t', ports).split('\n')).toEqual([
      'delete element ip t published_any { tcp . 8080, udp . 53 }',
      'delete element ip t published_at { tcp . 127.0.0.1 . 8081 }',
    ]);
    expect(ports.map(elementKey)).toEqual(['tcp . 8080', 'tcp . 127.0.0.1 . 8081', 'udp . 53']);
  });
});

describe('rebuildCommands()', () => {
  it("never touches the administrator's chain and ends with the elements", () => {
    const commands = rebuildCommands('berth', bridge, [port('0.0.0.0', 8080)]);
    expect(commands.match(/^(flush|delete) .*/gm)).toEqual([
      'flush chain ip berth guard',
      'flush chain ip berth inbound',
      'flush chain ip berth local',
      'flush chain ip berth publish',
      'flush chain ip berth forward',
      'flush chain ip berth outbound',
      'flush map ip berth published_any',
      'flush map ip berth published_at',
    ]);
    expect(commands.split('\n').at(-1)).toBe(
      'add element ip berth published_any { tcp . 8080 : 172.17.0.2 . 80 }',
    );
    expect(commands).toContain('iifname != { "berth0", "lo" } ip daddr 172.17.0.0/16 drop');
  });
});
