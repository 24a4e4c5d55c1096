import { expect, test } from 'vitest';
import { loadConfig } from '../../../daemon/boot/config/config.ts';
import { readFlags } from '../../../daemon/boot/config/flags.ts';
import { instanceOf } from '../../../daemon/boot/instance.ts';

function instance(...argv: string[]) {
  const config = loadConfig({ commandLine: readFlags(argv), environment: {}, readFile: () => undefined });
  const { cgroupParent, ...rest } = instanceOf(config);
  return { ...rest, cgroupfs: cgroupParent('cgroupfs'), systemd: cgroupParent('systemd') };
}

test('instanceOf: the only daemon of a host has the plain names', () => {
  expect(instance()).toEqual({
    bridge: 'berth0',
    hasDefaultNetwork: true,
    isForeignBridge: false,
    nftTable: 'berth',
    interfacePrefix: 'berth',
    cgroupfs: '/berth',
    systemd: 'berth.slice',
    cgroupDriver: null,
    paths: {
      dataRoot: '/var/lib/berth',
      execRoot: '/run/berth',
      database: '/var/lib/berth/berth.db',
      layers: '/var/lib/berth/layers',
      containers: '/var/lib/berth/containers',
      volumes: '/var/lib/berth/volumes',
      temporary: '/var/lib/berth/tmp',
      builds: '/var/lib/berth/builds',
      networkNamespaces: '/run/berth/netns',
      overlayNamespaces: '/run/berth/overlays',
      overlayFiles: '/var/lib/berth/overlays',
    },
  });
});

test('instanceOf: another daemon shares no name with it', () => {
  expect(instance('--instance', 'bt12-3', '--exec-opt=native.cgroupdriver=systemd')).toMatchObject({
    bridge: 'berth-bt12-3',
    nftTable: 'berth_bt12_3',
    interfacePrefix: expect.stringMatching(/^b\d[0-9a-z]{3}$/) as string,
    cgroupfs: '/berth-bt12-3',
    systemd: 'berth_bt12_3.slice',
    cgroupDriver: 'systemd',
  });
  const long = instance('--instance', 'a'.repeat(31));
  expect(long.bridge).toMatch(/^br-[0-9a-z]{8,12}$/);
});

test('instanceOf: prefixes of interfaces are of one length and differ', () => {
  const config = loadConfig({ commandLine: readFlags([]), environment: {}, readFile: () => undefined });
  const prefixes = Array.from(
    { length: 500 },
    (_, index) => instanceOf({ ...config, instance: `i${index}` }).interfacePrefix,
  );
  expect(prefixes.filter((prefix) => prefix.length !== 5)).toEqual([]);
  expect(new Set(prefixes).size).toBeGreaterThan(495);
});

test('instanceOf: names of the operator go before ours', () => {
  expect(instance('--bridge', 'br7', '--cgroup-parent', '/mine')).toMatchObject({
    bridge: 'br7',
    isForeignBridge: true,
    cgroupfs: '/mine',
    systemd: '/mine',
  });
  const config = loadConfig({ commandLine: readFlags([]), environment: {}, readFile: () => undefined });
  expect(instanceOf({ ...config, bridge: 'none' })).toMatchObject({
    bridge: 'berth0',
    hasDefaultNetwork: false,
  });
});
