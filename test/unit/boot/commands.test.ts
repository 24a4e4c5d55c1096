import { expect, test } from 'vitest';
import { readFlags } from '../../../daemon/boot/config/flags.ts';

test.each([
  [
    ['swarm', 'backup', '/b', '--data-root', '/d'],
    'backup',
    { directory: '/b', force: false, advertiseAddr: '' },
  ],
  [
    ['swarm', 'restore', '--force', '--advertise-addr', 'eth0', 'b'],
    'restore',
    { directory: 'b', force: true, advertiseAddr: 'eth0' },
  ],
  [
    ['swarm', 'restore', '--advertise-addr=10.0.0.1', 'b'],
    'restore',
    { directory: 'b', force: false, advertiseAddr: '10.0.0.1' },
  ],
  [['swarm', 'backup', '--help'], 'help', { directory: '', force: false, advertiseAddr: '' }],
])('commands: %j', (argv, action, swarm) => {
  const read = readFlags(argv);
  expect([read.action, read.swarm]).toEqual([action, swarm]);
});

test.each([
  [['swarm'], 'unknown command: swarm ; there are "swarm backup" and "swarm restore"'],
  [['swarm', 'leave'], 'unknown command: swarm leave; there are "swarm backup" and "swarm restore"'],
  [['swarm', 'backup'], 'swarm backup: needs a DIRECTORY'],
  [['swarm', 'backup', 'a', 'b'], 'unexpected argument: "b"'],
  [['swarm', 'backup', '--force', 'a'], 'unknown flag: --force'],
  [['swarm', 'restore', 'a', '--advertise-addr'], 'flag --advertise-addr: needs a value'],
  [['system', 'check', '--force'], 'unknown flag: --force'],
])('commands: %j is refused', (argv, said) => {
  expect(() => readFlags(argv)).toThrow(said);
});
