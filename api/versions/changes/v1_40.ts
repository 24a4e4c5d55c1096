import { change } from '../change.ts';
import { objectAt, objectsAt } from '../json.ts';

const ipcMode = change({
  id: 'ipc-mode-private',
  since: 40,
  routes: ['container.create'],
  description: 'The default IpcMode of a new container is private (shareable before).',
  request: ({ body }) => {
    const hostConfig = objectAt(body, 'HostConfig');
    if (hostConfig && (hostConfig['IpcMode'] ?? '') === '') {
      hostConfig['IpcMode'] = 'shareable';
    }
  },
});

const createFields = change({
  id: 'container-create-1.40',
  since: 40,
  routes: ['container.create'],
  description:
    'POST /containers/create takes BindOptions.NonRecursive and KernelMemoryTCP; they mean nothing in older ' +
    'versions.',
  request: ({ body }) => {
    const hostConfig = objectAt(body, 'HostConfig');
    delete hostConfig?.['KernelMemoryTCP'];
    for (const mount of objectsAt(hostConfig, 'Mounts')) {
      delete objectAt(mount, 'BindOptions')?.['NonRecursive'];
    }
  },
});

const updatePidsLimit = change({
  id: 'container-update-pids-limit',
  since: 40,
  routes: ['container.update'],
  description: 'POST /containers/{id}/update takes PidsLimit.',
  request: ({ body }) => {
    delete objectAt(body)?.['PidsLimit'];
  },
});

export const changes = [ipcMode, createFields, updatePidsLimit];
