import { expect, test } from 'vitest';
import type { DeviceRequest } from '../../../../api/types/host-config.ts';
import { requestedDevices } from '../../../../daemon/containers/request/device-requests.ts';

const NVIDIA = ['nvidia.com/gpu=0', 'nvidia.com/gpu=all'];
const AMD = ['amd.com/gpu=0', 'amd.com/gpu=all'];
const gpu = [['gpu']];

test.each<[string, DeviceRequest, readonly string[], string[]]>([
  [
    'by name',
    { Driver: 'cdi', DeviceIDs: ['v.com/net=a', 'v.com/net=b'] },
    [],
    ['v.com/net=a', 'v.com/net=b'],
  ],
  ['--gpus all', { Count: -1, Capabilities: gpu }, NVIDIA, ['nvidia.com/gpu=all']],
  ['--gpus 2', { Count: 2, Capabilities: gpu }, NVIDIA, ['nvidia.com/gpu=0', 'nvidia.com/gpu=1']],
  ['--gpus device=X', { DeviceIDs: ['GPU-1'], Capabilities: gpu }, NVIDIA, ['nvidia.com/gpu=GPU-1']],
  ['of AMD, where there are no others', { Count: -1, Capabilities: gpu }, AMD, ['amd.com/gpu=all']],
  [
    'of AMD by its driver',
    { Driver: 'amd', Count: 1, Capabilities: gpu },
    [...NVIDIA, ...AMD],
    ['amd.com/gpu=0'],
  ],
  [
    'with what it is for',
    { Count: 1, Capabilities: [['gpu', 'compute', 'utility']] },
    NVIDIA,
    ['nvidia.com/gpu=0'],
  ],
  ['compose', { Driver: 'nvidia', Count: 1, Capabilities: gpu }, NVIDIA, ['nvidia.com/gpu=0']],
])('%s', (_title, request, known, names) => {
  expect(requestedDevices({ DeviceRequests: [request] }, () => known)).toEqual(names);
});

test('none', () => {
  expect(requestedDevices({ DeviceRequests: null }, () => [])).toEqual([]);
});
