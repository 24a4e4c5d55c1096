import { execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { formatIp, parseIp } from '../../../../daemon/base/addresses/ip.ts';
import { HostProbes } from '../../../../runtime/network/overlay/host-probes.ts';
import { needs } from '../../../support/needs.ts';

const probes: HostProbes[] = [];

function newProbes(): HostProbes {
  const made = new HostProbes();
  probes.push(made);
  return made;
}

/** Who answers two questions, asked one after the other. */
async function answered(asker: HostProbes, ...hosts: string[]): Promise<string[]> {
  const addresses = hosts.flatMap((host) => parseIp(host) ?? []);
  const found = new Set<string>();
  expect(asker.probe(addresses)).toEqual([]);
  await expect
    .poll(() => {
      asker.probe(addresses).forEach((host) => found.add(formatIp(host)));
      return found.size;
    })
    .toBeGreaterThan(0);
  return [...found].toSorted();
}

needs(
  'root',
  'linux',
  'busybox',
)('questions to hosts whether they are there', () => {
  afterEach(() => probes.splice(0).forEach((each) => each[Symbol.dispose]()));

  test('those who are there answer, and nobody else; hosts with IPv6 are not asked', async () => {
    // 192.0.2.0/24 is nobody's (RFC 5737).
    const hosts = ['127.0.0.2', '192.0.2.77', '127.0.0.3', '::1'];
    expect(await answered(newProbes(), ...hosts)).toEqual(['127.0.0.2', '127.0.0.3']);
  });

  test('answers to others are not taken for ours', async () => {
    const [one, other] = [newProbes(), newProbes()];
    other.probe([]);
    expect(await answered(one, '127.0.0.2')).toEqual(['127.0.0.2']);
    execFileSync('busybox', ['ping', '-c', '2', '127.0.0.2'], { stdio: 'ignore' });
    expect(other.probe([])).toEqual([]);
  });

  test('an address without a way to it is one that does not answer', () => {
    const asker = newProbes();
    asker.probe([parseIp('255.255.255.255') ?? 0, parseIp('0.0.0.1') ?? 0]);
    expect(asker.probe([])).toEqual([]);
  });
});
