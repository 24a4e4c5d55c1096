import { expect, test } from 'vitest';
import { mountPointsBelow, parseMountInfo } from '../../../../runtime/mounts/mountinfo.ts';

const TEXT = String.raw`22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,discard
30 22 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
40 22 0:50 / /var/lib/berth/a rw,relatime - overlay overlay rw,lowerdir=/x:/y
41 40 0:51 / /var/lib/berth/a/with\040blank\134\011x rw master:2 propagate_from:1 - tmpfs tmpfs rw
42 40 0:52 / /var/lib/berth/a/with\040blank\134\011x rw - tmpfs tmpfs rw
43 22 0:53 / /var/lib/berth/ab rw - tmpfs tmpfs rw
44 22 8:1 /data/né /var/lib/berth/a/né rw - ext4 /dev/sda1 rw
not a line
`;

test('parseMountInfo reads optional fields, escapes and options', () => {
  const mounts = parseMountInfo(TEXT);
  expect(mounts).toHaveLength(7);
  expect(mounts[1]).toEqual({
    root: '/',
    mountPoint: '/sys/fs/cgroup/memory',
    type: 'cgroup',
    source: 'cgroup',
    superOptions: ['rw', 'memory'],
  });
  expect(mounts[3]).toMatchObject({ mountPoint: '/var/lib/berth/a/with blank\\\tx', type: 'tmpfs' });
  expect(mounts[6]).toMatchObject({ root: '/data/né', mountPoint: '/var/lib/berth/a/né' });
});

test('mountPointsBelow lists stacked and deep mounts in the order to unmount', () => {
  const mounts = parseMountInfo(TEXT);
  expect(mountPointsBelow(mounts, '/var/lib/berth/a')).toEqual([
    '/var/lib/berth/a/né',
    '/var/lib/berth/a/with blank\\\tx',
    '/var/lib/berth/a/with blank\\\tx',
    '/var/lib/berth/a',
  ]);
  expect(mountPointsBelow(mounts, '/var/lib/nothing')).toEqual([]);
  expect(mountPointsBelow(mounts, '/')).toHaveLength(7);
});
