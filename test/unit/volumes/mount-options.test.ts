import { expect, test } from 'vitest';
import {
  addressOption,
  checkLocalOptions,
  mountPlan,
  sizeLimit,
  withAddress,
} from '../../../daemon/volumes/mount-options.ts';

test.each<[Record<string, string>, string]>([
  [{ colour: 'red' }, 'create v: invalid option: "colour"'],
  [{ type: 'tmpfs' }, 'create v: missing required option: "device"'],
  [{ device: '/x' }, 'create v: missing required option: "type"'],
  [{ o: 'bind' }, 'create v: missing required option: "device"'],
])('options: %j are refused', (options, message) => {
  expect(() => checkLocalOptions('v', options)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message }),
  );
});

test.each<[Record<string, string>, object | undefined]>([
  [{}, undefined],
  [{ type: '', device: '', o: '' }, undefined],
  [
    { type: 'tmpfs', device: 'tmpfs' },
    { source: 'tmpfs', type: 'tmpfs', flags: 0, propagation: 0, data: '' },
  ],
  [
    { type: 'tmpfs', device: 'tmpfs', o: 'size=1m,noexec,nosuid,uid=1000' },
    { source: 'tmpfs', type: 'tmpfs', flags: 0xa, propagation: 0, data: 'size=1m,uid=1000' },
  ],
  [
    { type: 'none', device: '/srv', o: 'bind,ro,rshared' },
    { source: '/srv', type: 'none', flags: 0x1001, propagation: 0x10_4000, data: '' },
  ],
  [
    { type: 'ext4', device: '/dev/sdz', o: 'ro,rw,async,defaults' },
    { source: '/dev/sdz', type: 'ext4', flags: 0, propagation: 0, data: '' },
  ],
])('options: %j become a mount', (options, plan) => {
  checkLocalOptions('v', options);
  expect(mountPlan(options)).toEqual(plan);
});

test('address: the server of a network file system is looked up', () => {
  const plan = mountPlan({ type: 'nfs4', device: ':/srv', o: 'addr=files.lan,rw,nolock' });
  expect(plan && addressOption(plan)).toBe('files.lan');
  expect(plan && withAddress(plan, '10.0.0.9').data).toBe('addr=10.0.0.9,nolock');
  const local = mountPlan({ type: 'tmpfs', device: 'tmpfs', o: 'addr=files.lan' });
  expect(local && addressOption(local)).toBeUndefined();
});

test.each<[Record<string, string>, number]>([
  [{}, 0],
  [{ size: '0' }, 0],
  [{ size: '1' }, 1],
  [{ size: '1.5k' }, 1536],
  [{ size: '16M' }, 16 << 20],
  [{ size: '2GiB' }, 2 * 2 ** 30],
])('options: %j limit a volume to %d bytes', (options, bytes) => {
  expect(sizeLimit('v', options)).toBe(bytes);
});

test.each<[Record<string, string>, string]>([
  [{ size: '' }, "create v: invalid size: ''"],
  [{ size: 'much' }, "create v: invalid size: 'much'"],
  [{ size: '-1' }, "create v: invalid size: '-1'"],
  [
    { size: '1g', type: 'ext4', device: '/dev/sdz' },
    "create v: size=1g limits the volume's own directory, but /dev/sdz is mounted over it: " +
      'say it to that file system in "o"',
  ],
])('options: %j is no size', (options, message) => {
  expect(() => sizeLimit('v', options)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message }),
  );
});
