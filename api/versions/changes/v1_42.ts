import { change } from '../change.ts';
import { editAt, objectAt, objectsAt, withFilter } from '../json.ts';

const multiplexed = change({
  id: 'multiplexed-content-type',
  since: 42,
  routes: ['container.attach', 'container.logs', 'exec.start', 'service.logs', 'task.logs'],
  description:
    'Streams of 8-byte frames (no TTY) are application/vnd.docker.multiplexed-stream (raw-stream before, whether ' +
    'framed or not).',
  quirk: 'multiplexed-content-type',
});

const websocketStreams = change({
  id: 'websocket-stream-selection',
  since: 42,
  routes: ['container.attachWebsocket'],
  description:
    'GET /containers/{id}/attach/ws takes stdin, stdout and stderr (all three were attached before).',
  quirk: 'websocket-selects-streams',
});

const stopSignal = change({
  id: 'stop-signal-parameter',
  since: 42,
  routes: ['container.stop', 'container.restart'],
  description: 'POST /containers/{id}/stop and restart take signal.',
  request: ({ query }) => query.delete('signal'),
});

const consoleSize = change({
  id: 'exec-console-size',
  since: 42,
  routes: ['exec.create', 'exec.start'],
  description: 'POST /containers/{id}/exec and /exec/{id}/start take ConsoleSize.',
  request: ({ body }) => {
    delete objectAt(body)?.['ConsoleSize'];
  },
});

const createFields = change({
  id: 'container-create-1.42',
  since: 42,
  routes: ['container.create'],
  description:
    'POST /containers/create takes ConsoleSize and BindOptions.CreateMountpoint, refuses TmpfsOptions of other ' +
    'mounts than tmpfs (ignored before), and ignores KernelMemory, which the kernel no longer has.',
  request: ({ body }) => {
    const hostConfig = objectAt(body, 'HostConfig');
    delete hostConfig?.['ConsoleSize'];
    for (const mount of objectsAt(hostConfig, 'Mounts')) {
      delete objectAt(mount, 'BindOptions')?.['CreateMountpoint'];
      // Those of the other types were refused in every version.
      if (mount['Type'] !== 'tmpfs') {
        delete mount['TmpfsOptions'];
      }
    }
  },
  quirk: 'kernel-memory-is-ignored',
});

const updateKernelMemory = change({
  id: 'container-update-kernel-memory',
  since: 42,
  routes: ['container.update'],
  description: 'POST /containers/{id}/update ignores KernelMemory, which the kernel no longer has.',
  quirk: 'kernel-memory-is-ignored',
});

const inspectKernelMemory = change({
  id: 'inspect-kernel-memory',
  since: 42,
  routes: ['container.inspect'],
  description:
    'Containers tell KernelMemory and KernelMemoryTCP only where they have a limit, which none has.',
  response: (body) =>
    editAt(body, ['HostConfig'], (host) => ({ KernelMemory: 0, KernelMemoryTCP: 0, ...host })),
});

const sharedSize = change({
  id: 'image-shared-size',
  since: 42,
  routes: ['image.list'],
  description: 'GET /images/json takes shared-size.',
  request: ({ query }) => query.delete('shared-size'),
});

const kernelMemory = change({
  id: 'info-kernel-memory',
  since: 42,
  routes: ['system.info'],
  description: 'GET /info no longer tells KernelMemory and KernelMemoryTCP.',
  response: (body) => editAt(body, [], (info) => ({ KernelMemory: false, KernelMemoryTCP: false, ...info })),
});

const diskUsageTypes = change({
  id: 'disk-usage-types',
  since: 42,
  routes: ['system.diskUsage'],
  description: 'GET /system/df takes type, and no longer tells BuilderSize.',
  request: ({ query }) => query.delete('type'),
  response: (body) => editAt(body, [], (usage) => ({ ...usage, BuilderSize: 0 })),
});

const clusterVolumes = change({
  id: 'cluster-volumes',
  since: 42,
  routes: ['volume.create'],
  description:
    'POST /volumes/create takes ClusterVolumeSpec, which is refused: there are no cluster volumes here.',
  request: ({ body }) => {
    delete objectAt(body)?.['ClusterVolumeSpec'];
  },
});

const pruneAll = change({
  id: 'volume-prune-all',
  since: 42,
  routes: ['volume.prune'],
  description: 'POST /volumes/prune removes only anonymous volumes, unless the filter all is true.',
  request: ({ query }) => query.set('filters', withFilter(query.get('filters'), 'all', 'true')),
});

export const changes = [
  multiplexed,
  websocketStreams,
  stopSignal,
  consoleSize,
  createFields,
  updateKernelMemory,
  inspectKernelMemory,
  sharedSize,
  kernelMemory,
  diskUsageTypes,
  clusterVolumes,
  pruneAll,
];
