import { change } from '../change.ts';
import { editAt, editEach, editValues, isObject, objectAt, objectsAt, shaped, without } from '../json.ts';
import type { JsonObject } from '../json.ts';
import * as v24 from './shapes_v1_24.ts';

const container = change({
  id: 'container-shapes-1.24',
  since: 25,
  routes: ['container.inspect'],
  description:
    'Containers have Mounts, AutoRemove, Init, StopTimeout and NanoCpus in their configuration, a Type in every ' +
    'mount, and may be in state removing.',
  response: (body) =>
    editAt(body, [], (newest) => {
      const older = shaped(newest, v24.CONTAINER);
      older['Config'] = shaped(objectAt(newest, 'Config') ?? {}, v24.CONFIG);
      older['HostConfig'] = shaped(objectAt(newest, 'HostConfig') ?? {}, v24.HOST_CONFIG);
      older['State'] = olderState(shaped(objectAt(newest, 'State') ?? {}, v24.STATE));
      older['Mounts'] = objectsAt(newest, 'Mounts').map((mount) => shaped(mount, v24.MOUNT));
      const settings = shaped(objectAt(newest, 'NetworkSettings') ?? {}, v24.NETWORK_SETTINGS);
      settings['Networks'] = editValues(settings['Networks'], (endpoint) => shaped(endpoint, v24.ENDPOINT));
      older['NetworkSettings'] = settings;
      return older;
    }),
});

const containerList = change({
  id: 'container-summary-1.24',
  since: 25,
  routes: ['container.list'],
  description: 'Listed containers tell the Type of their mounts and may be in state removing.',
  response: (body) =>
    editEach(body, (newest) => {
      const older = olderState(shaped(newest, v24.CONTAINER_SUMMARY), 'State');
      older['Mounts'] = objectsAt(newest, 'Mounts').map((mount) => shaped(mount, v24.MOUNT));
      return editNetworks(older);
    }),
});

function editNetworks(summary: JsonObject): JsonObject {
  const networks = editValues(objectAt(summary, 'NetworkSettings', 'Networks') ?? {}, (endpoint) =>
    shaped(endpoint, v24.ENDPOINT),
  );
  return { ...summary, NetworkSettings: { Networks: networks } };
}

/** 1.24 has no state "removing"; what is being removed does not run. */
function olderState(state: JsonObject, key = 'Status'): JsonObject {
  return state[key] === 'removing' ? { ...state, [key]: 'exited' } : state;
}

const create = change({
  id: 'container-create-1.24',
  since: 25,
  routes: ['container.create'],
  description:
    'POST /containers/create takes HostConfig.AutoRemove. Older clients remove containers themselves.',
  request: ({ body }) => {
    delete objectAt(body, 'HostConfig')?.['AutoRemove'];
  },
});

const execInspect = change({
  id: 'exec-pid',
  since: 25,
  routes: ['exec.inspect'],
  description: 'GET /exec/{id}/json tells Pid, and ExitCode is null while the command runs (0 before).',
  response: (body) =>
    editAt(body, [], (newest) => ({
      ...shaped(newest, v24.EXEC),
      ProcessConfig: shaped(objectAt(newest, 'ProcessConfig') ?? {}, v24.PROCESS_CONFIG),
    })),
});

const execResize = change({
  id: 'exec-resize-status',
  since: 25,
  routes: ['exec.resize'],
  description: 'POST /exec/{id}/resize answers 200 (201 before).',
  quirk: 'exec-resize-answers-200',
});

const noSwarm = change({
  id: 'no-swarm-status',
  since: 25,
  routes: [],
  description: 'Operations of the swarm answer 503 on a node that cannot serve them (406 before).',
  quirk: 'no-swarm-is-503',
});

const imageList = change({
  id: 'image-summary-1.24',
  since: 25,
  routes: ['image.list'],
  description: 'Listed images tell SharedSize and Containers.',
  response: (body) => editEach(body, (newest) => shaped(newest, v24.IMAGE_SUMMARY)),
});

const imageInspect = change({
  id: 'image-shapes-1.24',
  since: 25,
  routes: ['image.inspect'],
  description: 'Images tell Variant, OsVersion and Metadata; their configuration lost PublishService.',
  response: (body) =>
    editAt(body, [], (newest) => ({
      ...shaped(newest, v24.IMAGE),
      Config: imageConfig(newest['Config']),
      ContainerConfig: imageConfig(newest['ContainerConfig']),
      RootFS: shaped(objectAt(newest, 'RootFS') ?? {}, { Type: '', Layers: [] }),
    })),
});

function imageConfig(config: unknown): JsonObject {
  return { ...shaped(isObject(config) ? config : {}, v24.CONFIG), PublishService: '' };
}

const network = change({
  id: 'network-attachable',
  since: 25,
  routes: ['network.list', 'network.inspect'],
  description: 'Networks tell Created and Attachable.',
  response: (body) =>
    Array.isArray(body)
      ? editEach(body, (newest) => shaped(newest, v24.NETWORK))
      : editAt(body, [], (newest) => shaped(newest, v24.NETWORK)),
});

const volume = change({
  id: 'volume-options',
  since: 25,
  routes: ['volume.list', 'volume.create', 'volume.inspect'],
  description: 'Volumes tell their Options.',
  response: (body) =>
    editAt(body, [], (newest) =>
      'Volumes' in newest
        ? {
            Volumes: objectsAt(newest, 'Volumes').map((item) => shaped(item, v24.VOLUME)),
            Warnings: newest['Warnings'] ?? [],
          }
        : shaped(newest, v24.VOLUME),
    ),
});

const version = change({
  id: 'version-minimum',
  since: 25,
  routes: ['system.version'],
  description: 'GET /version tells MinAPIVersion, and Experimental only when it is on.',
  response: (body) => editAt(body, [], (newest) => shaped(newest, v24.VERSION)),
});

const info = change({
  id: 'info-1.24',
  since: 25,
  routes: ['system.info'],
  description:
    'GET /info tells InitBinary, InitCommit, RuncCommit and ContainerdCommit in place of InitPath and InitSha1, no ' +
    'longer ExecutionDriver, and SecurityOptions as name=value pairs (names only before).',
  response: (body) =>
    editAt(body, [], (newest) => ({
      ...shaped(newest, v24.INFO),
      InitPath: typeof newest['InitBinary'] === 'string' ? newest['InitBinary'] : '',
      SecurityOptions: olderSecurityOptions(newest['SecurityOptions']),
      Plugins: olderPlugins(objectAt(newest, 'Plugins') ?? {}),
      RegistryConfig: shaped(objectAt(newest, 'RegistryConfig') ?? {}, {
        IndexConfigs: {},
        InsecureRegistryCIDRs: [],
      }),
    })),
});

function olderPlugins(plugins: JsonObject): JsonObject {
  return without(shaped(plugins, { Authorization: null, Network: [], Volume: [] }), 'Log');
}

/** `name=seccomp,profile=default` -> `seccomp`. */
function olderSecurityOptions(options: unknown): string[] {
  const texts = Array.isArray(options) ? options.filter((option) => typeof option === 'string') : [];
  return texts.map((option) => /(?:^|,)name=([^,]*)/.exec(option)?.[1] ?? option);
}

export const changes = [
  container,
  containerList,
  create,
  execInspect,
  execResize,
  noSwarm,
  imageList,
  imageInspect,
  network,
  volume,
  version,
  info,
];
