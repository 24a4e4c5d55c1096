import { change } from '../change.ts';
import { objectAt } from '../json.ts';

const DEVICE_RULES = [
  'BlkioWeightDevice',
  'BlkioDeviceReadBps',
  'BlkioDeviceWriteBps',
  'BlkioDeviceReadIOps',
  'BlkioDeviceWriteIOps',
];

const deviceRules = change({
  id: 'container-update-device-rules',
  since: 55,
  routes: ['container.update'],
  description:
    'POST /containers/{id}/update takes an empty list of BlkioWeightDevice, BlkioDeviceReadBps, BlkioDeviceWriteBps, ' +
    'BlkioDeviceReadIOps and BlkioDeviceWriteIOps as "no rule" (as "leave them" before).',
  request: ({ body }) => {
    const resources = objectAt(body) ?? {};
    for (const field of DEVICE_RULES) {
      const list = resources[field];
      if (Array.isArray(list) && list.length === 0) {
        delete resources[field];
      }
    }
  },
});

export const changes = [deviceRules];
