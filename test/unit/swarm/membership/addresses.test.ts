import { expect, test } from 'vitest';
import { createServer } from 'node:net';
import {
  chooseAddresses,
  listenFor,
  splitAddr,
  type HostInterface,
} from '../../../../swarm/membership/addresses.ts';
import type { NodeFile } from '../../../../swarm/membership/files.ts';
import { withPorts } from '../../../../swarm/membership/free-ports.ts';
import { movedWithHost } from '../../../../swarm/membership/moving.ts';

const eth0: HostInterface = { name: 'eth0', addresses: ['10.1.0.5', '2001:db8::5'] };
const eth1: HostInterface = { name: 'eth1', addresses: ['192.168.7.9'] };
const busy: HostInterface = { name: 'eth2', addresses: ['10.2.0.1', '10.2.0.2'] };
const six: HostInterface = { name: 'eth3', addresses: ['2001:db8::7'] };
const CANNOT = 'could not choose an IP address to advertise since this system has multiple addresses on';
const first = { isJoining: false };

test.each([
  [{}, [eth0], '0.0.0.0:2377', '10.1.0.5:2377'],
  [{ ListenAddr: '0.0.0.0:4000' }, [eth0], '0.0.0.0:4000', '10.1.0.5:4000'],
  [{ ListenAddr: '0.0.0.0' }, [eth0], '0.0.0.0:2377', '10.1.0.5:2377'],
  [{ ListenAddr: 'eth1:4000' }, [eth0, eth1], '192.168.7.9:4000', '192.168.7.9:4000'],
  [{ ListenAddr: '10.1.0.5' }, [eth0, eth1], '10.1.0.5:2377', '10.1.0.5:2377'],
  [{ AdvertiseAddr: 'eth1' }, [eth0, eth1], '0.0.0.0:2377', '192.168.7.9:2377'],
  [{ AdvertiseAddr: '203.0.113.4:99' }, [eth0, eth1], '0.0.0.0:2377', '203.0.113.4:99'],
  [{ ListenAddr: '[::]:2377' }, [six], '[::]:2377', '[2001:db8::7]:2377'],
  [{ ListenAddr: '2001:db8::7' }, [six], '[2001:db8::7]:2377', '[2001:db8::7]:2377'],
])('%j on a host with %j', (request, interfaces, listenAddr, advertiseAddr) => {
  expect(chooseAddresses(request, interfaces, first)).toEqual({
    listenAddr,
    advertiseAddr,
    dataPathAddr: '',
  });
});

test.each([
  [{}, [busy], `${CANNOT} interface eth2 (10.2.0.1 and 10.2.0.2)`],
  [{}, [eth0, eth1], `${CANNOT} different interfaces (10.1.0.5 on eth0 and 192.168.7.9 on eth1)`],
  [{}, [], "could not find the system's IP address"],
  [
    { AdvertiseAddr: 'eth2' },
    [busy],
    'interface eth2 has more than one IPv4 address (10.2.0.1 and 10.2.0.2)',
  ],
  [{ AdvertiseAddr: 'none' }, [], /^advertise address must be a non-zero IP address or network interface/],
  [{ AdvertiseAddr: '0.0.0.0' }, [eth0], /^advertise address must be a non-zero IP address/],
  [{ ListenAddr: 'none:1' }, [eth0], /^listen address must be an IP address or network interface/],
  [{ ListenAddr: '0.0.0.0:99999' }, [eth0], 'could not parse address 0.0.0.0:99999'],
  [{ DataPathAddr: '10.1.0.5:1' }, [eth0], /^data path address must be a non-zero IP address/],
])('%j on a host with %j is refused', (request, interfaces, message) => {
  expect(() => chooseAddresses(request, interfaces, first)).toThrow(
    expect.objectContaining({
      code: 'invalid_argument',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    }),
  );
});

test('a node that joins is seen by where it calls from, so nothing has to be found', () => {
  const found = chooseAddresses({ DataPathAddr: 'eth1' }, [eth0, eth1], { isJoining: true });
  expect(found).toEqual({
    listenAddr: '0.0.0.0:2377',
    advertiseAddr: '',
    dataPathAddr: '192.168.7.9',
    dataPathLink: 'eth1',
  });
});

test('an address with its port is taken apart again', () => {
  expect(['10.0.0.1:2377', '[2001:db8::7]:1'].map(splitAddr)).toEqual([
    { host: '10.0.0.1', port: '2377' },
    { host: '2001:db8::7', port: '1' },
  ]);
});

test.each([
  ['0.0.0.0:2377', '[2001:db8::7]:2377', '[::]:2377'],
  ['0.0.0.0:2377', '10.1.0.5:2377', '0.0.0.0:2377'],
  ['0.0.0.0:2377', '', '0.0.0.0:2377'],
  ['10.1.0.5:2377', '[2001:db8::7]:2377', '10.1.0.5:2377'],
])('who listens at %s and is called at %s listens at %s', (listen, advertise, expected) => {
  expect(listenFor(listen, advertise)).toBe(expected);
});

test('port 0 is a free one with a free one beside it, also for those who call', async () => {
  const asked = chooseAddresses({ ListenAddr: '127.0.0.1:0' }, [], first);
  const { listenAddr, advertiseAddr } = await withPorts(asked);
  expect(advertiseAddr).toBe(listenAddr);
  const port = Number(splitAddr(listenAddr).port);
  expect(port).toBeGreaterThan(1023);
  for (const each of [port, port + 1]) {
    const server = createServer().listen({ host: '127.0.0.1', port: each });
    await new Promise((resolve) => void server.once('listening', resolve));
    server.close();
  }
});

test.each([
  ['0.0.0.0:2377', '10.1.0.5:0', '10.1.0.5:2377'],
  ['0.0.0.0:4000', '10.1.0.5:99', '10.1.0.5:99'],
  ['0.0.0.0:4000', '', ''],
])('who listens at %s and advertises %s is called at %s', async (listenAddr, advertiseAddr, expected) => {
  const given = { listenAddr, advertiseAddr, dataPathAddr: '' };
  expect(await withPorts(given)).toEqual({ ...given, advertiseAddr: expected });
});

test.each<[what: string, changes: Partial<NodeFile>, interfaces: HostInterface[], expected: string]>([
  ['has it still', {}, [eth0, { name: 'eth1', addresses: ['192.168.7.9', '192.168.7.10'] }], '192.168.7.9'],
  ['has another one', {}, [eth0, { name: 'eth1', addresses: ['192.168.7.10'] }], '192.168.7.10'],
  ['has two others', {}, [eth0, { ...busy, name: 'eth1' }], '192.168.7.9'],
  ['is gone', {}, [eth0], '192.168.7.9'],
  ['was not named', { dataPathLink: undefined }, [eth0, { ...six, name: 'eth1' }], '192.168.7.9'],
] as [string, Partial<NodeFile>, HostInterface[], string][])(
  'the interface named for overlay traffic %s',
  (_what, changes, interfaces, expected) => {
    const asked = chooseAddresses({ ListenAddr: '10.1.0.5', DataPathAddr: 'eth1' }, [eth0, eth1], first);
    const file: NodeFile = { node: 'n', cluster: 'c', ...asked, managers: [], ...changes };
    expect(movedWithHost(file, interfaces).dataPathAddr).toBe(expected);
  },
);
