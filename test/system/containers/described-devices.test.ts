import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import type { DeviceRequest } from '../../../api/types/host-config.ts';
import type { SystemInfo } from '../../../api/types/system.ts';
import { describeEngine } from '../../support/engine/engine.ts';

const FOLDER = `/tmp/berth-test-cdi-${process.pid}`;
const DIRECTORIES = [`${FOLDER}/etc`, `${FOLDER}/run`];

function describeDevices(directory: string, file: string, spec: object): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/${file}`, JSON.stringify({ cdiVersion: '0.6.0', ...spec }));
}

/** Node of /dev/zero's number at /dev/gpuN, a library, and a variable that comes with each device. */
function describeGpus(): void {
  writeFileSync(`${FOLDER}/library`, 'of the vendor');
  describeDevices(`${FOLDER}/etc`, 'gpu.json', {
    kind: 'nvidia.com/gpu',
    devices: ['0', '1', 'all'].map((name) => ({
      name,
      containerEdits: { deviceNodes: [{ path: `/dev/gpu${name}`, hostPath: '/dev/zero' }] },
    })),
    containerEdits: {
      env: ['DRIVER=1.2'],
      mounts: [{ hostPath: `${FOLDER}/library`, containerPath: '/usr/lib/gpu', options: ['ro', 'bind'] }],
      hooks: [{ hookName: 'createRuntime', path: '/usr/bin/touch', args: ['touch', `${FOLDER}/hooked`] }],
    },
  });
}

const ask = (request: DeviceRequest): object => ({ DeviceRequests: [request] });
const byName = (...DeviceIDs: string[]): object => ask({ Driver: 'cdi', DeviceIDs });
const net = (value: string): object => ({
  kind: 'vendor.com/net',
  devices: [{ name: 'a', containerEdits: { env: [`NET=${value}`] } }],
});

const SHOW = [
  'sh',
  '-c',
  'ls /dev | grep gpu; head -c 2 /dev/gpu* | od -An -c; cat /usr/lib/gpu; echo " $DRIVER"',
];

describeEngine(
  'devices that files of vendors describe',
  (engine) => {
    beforeEach(() => {
      mkdirSync(FOLDER, { recursive: true });
      describeGpus();
    });
    afterEach(async () => {
      await engine.removeAll();
      rmSync(FOLDER, { recursive: true, force: true });
    });
    afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

    const show = (): Promise<{ stdout: string }> =>
      engine.run(['sh', '-c', 'echo $NET'], byName('vendor.com/net=a'));

    test('--device nvidia.com/gpu=0: node, library and variable are there, the hook has run', async () => {
      const { exitCode, stdout } = await engine.run(SHOW, byName('nvidia.com/gpu=0'));
      expect([exitCode, stdout]).toEqual([0, 'gpu0\n  \\0  \\0\nof the vendor 1.2\n']);
      expect(rmSync(`${FOLDER}/hooked`)).toBeUndefined();
    });

    test.each([
      ['--gpus all', { Count: -1, Capabilities: [['gpu']] }, 'gpuall\n'],
      ['--gpus 2', { Count: 2, Capabilities: [['gpu']] }, 'gpu0\ngpu1\n'],
      ['--gpus device=1', { DeviceIDs: ['1'], Capabilities: [['gpu']] }, 'gpu1\n'],
    ])('%s', async (_title, request, nodes) => {
      const { stdout } = await engine.run(['sh', '-c', 'ls /dev | grep gpu'], ask(request));
      expect(stdout).toBe(nodes);
    });

    test('info tells devices; a file that comes later counts at once, one that is broken does not', async () => {
      describeDevices(`${FOLDER}/run`, 'net.json', {
        kind: 'vendor.com/net',
        devices: [{ name: 'a', containerEdits: { env: ['NET=a'] } }],
      });
      writeFileSync(`${FOLDER}/run/broken.yaml`, 'kind: [');
      const { CDISpecDirs, DiscoveredDevices } = await engine.http.ok<SystemInfo>('GET', '/info');
      expect(CDISpecDirs).toEqual(DIRECTORIES);
      expect(DiscoveredDevices?.map(({ ID }) => ID)).toEqual([
        'nvidia.com/gpu=0',
        'nvidia.com/gpu=1',
        'nvidia.com/gpu=all',
        'vendor.com/net=a',
      ]);
      const { stdout } = await engine.run(['sh', '-c', 'echo $NET'], byName('vendor.com/net=a'));
      expect(stdout).toBe('a\n');
    });

    test('of two of a name that of the later directory counts, two in one directory are none', async () => {
      describeDevices(`${FOLDER}/etc`, 'net.json', net('etc'));
      describeDevices(`${FOLDER}/run`, 'net.json', net('run'));
      expect((await show()).stdout).toBe('run\n');
      describeDevices(`${FOLDER}/run`, 'other.json', net('other'));
      await expect(show()).rejects.toThrow(/unresolvable CDI devices vendor.com\/net=a/);
    });

    test('a device that is gone is told of at the start, and leaves nothing', async () => {
      const id = await engine.create(['true'], byName('nvidia.com/gpu=7', 'nvidia.com/gpu=0'));
      const answer = await engine.http.request('POST', `/containers/${id}/start`);
      expect([answer.status, answer.text]).toEqual([
        400,
        expect.stringMatching(/CDI device injection failed: unresolvable CDI devices nvidia.com\/gpu=7 \(/),
      ]);
    });
  },
  { config: { 'cdi-spec-dirs': DIRECTORIES } },
);
