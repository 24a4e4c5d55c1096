import { expect, test } from 'vitest';
import { availabilityOf, initOptions } from '../../../../swarm/membership/init-options.ts';
import { refusals } from '../../../../swarm/membership/refusals.ts';
import { TokenGuard } from '../../../../swarm/membership/manager/token-guard.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';

test('what a swarm is given once: defaults', () => {
  expect(initOptions({})).toEqual({ addressPools: ['10.0.0.0/8'], subnetSize: 24, dataPathPort: 4789 });
  expect(initOptions({ DefaultAddrPool: ['172.20.0.0/16'], SubnetSize: 26, DataPathPort: 7777 })).toEqual({
    addressPools: ['172.20.0.0/16'],
    subnetSize: 26,
    dataPathPort: 7777,
  });
});

test.each([
  [{ SubnetSize: 30 }, 'subnet size is out of range: 30'],
  [{ DefaultAddrPool: ['x'] }, 'invalid base pool x: invalid CIDR address: x'],
  [
    { DefaultAddrPool: ['10.0.0.0/16', '300.0.0.0/16'] },
    'invalid base pool 300.0.0.0/16: invalid CIDR address: 300.0.0.0/16',
  ],
  [
    { DefaultAddrPool: ['10.0.0.0/25'] },
    'invalid CIDR: "10.0.0.0/25". Subnet size is too small for pool: 24',
  ],
  [{ DataPathPort: 80 }, 'Datapath port number is not in valid range (1024-49151) : 80'],
  [{ DataPathPort: 50_000 }, 'Datapath port number is not in valid range (1024-49151) : 50000'],
])('%j is refused', (request, message) => {
  expect(() => initOptions(request)).toThrow(expect.objectContaining({ code: 'invalid_argument', message }));
});

test('availability: active unless said otherwise', () => {
  expect([availabilityOf(undefined), availabilityOf(''), availabilityOf('drain')]).toEqual([
    'active',
    'active',
    'drain',
  ]);
  expect(() => availabilityOf('x')).toThrow('invalid Availability: "x"');
});

const FIRST = 'You are attempting to leave the swarm on a node that is participating as a manager. ';
const HOW =
  'The only way to restore a swarm that has lost consensus is to reinitialize it with `--force-new-cluster`. ' +
  'Use `--force` to suppress this message.';

test.each([
  [
    { reachable: 1, all: 1, stays: '' },
    'Removing the last manager erases all current state of the swarm. Use `--force` to ignore this message. ',
  ],
  [
    { reachable: 1, all: 1, stays: 'the images of the hub' },
    'Removing the last manager erases all current state of the swarm, but for the images of the hub, which stay on ' +
      'this host. Use `--force` to ignore this message. ',
  ],
  [
    { reachable: 2, all: 2, stays: '' },
    `Removing this node leaves 1 managers out of 2. Without a Raft quorum your swarm will be inaccessible. ${HOW}`,
  ],
  [
    { reachable: 2, all: 3, stays: '' },
    `Removing this node leaves 1 managers out of 3. Without a Raft quorum your swarm will be inaccessible. ${HOW}`,
  ],
  [{ reachable: 3, all: 3, stays: '' }, HOW],
  [undefined, `Doing so may lose the consensus of your cluster. ${HOW}`],
])('a manager that leaves with %j is told what that costs', (managers, consequence) => {
  expect(refusals.leaveManager(managers).message).toBe(FIRST + consequence);
});

test('an address that sends wrong tokens waits a minute; others do not', async () => {
  const clock = new ManualClock();
  const guard = new TokenGuard(clock);
  for (let at = 0; at < 10; at += 1) {
    guard.check('a');
    guard.note('a');
  }
  expect(() => guard.check('a')).toThrow('too many wrong join tokens: try again in a minute');
  guard.check('b');
  await clock.advance(60_001);
  guard.check('a');
});
