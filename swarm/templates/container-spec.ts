import type { MountRequest } from '../../api/types/host-config.ts';
import type { StringMap } from '../../api/types/maps.ts';
import type { ContainerSpec } from '../../api/types/swarm/container-spec.ts';
import { EngineError, errorText, invalidArgument } from '../../daemon/base/errors.ts';
import { templateContext, type TemplateSubject } from './context.ts';
import { expand } from './execute.ts';
import type { Value } from './values.ts';

/**
 * A task's specification with what stands in templates filled in: values of Env, Hostname, sources and targets of
 * mounts, values of volumes' labels and driver options. Throws invalid_argument that names the place.
 */
export function expandContainerSpec(spec: ContainerSpec, subject: TemplateSubject): ContainerSpec {
  const data = templateContext(subject);
  const { Hostname, Env, Mounts } = spec;
  return {
    ...spec,
    ...(Env && { Env: named('expanding env failed', () => Env.map((entry) => expandEntry(entry, data))) }),
    ...(Mounts && {
      Mounts: named('expanding mounts failed', () => Mounts.map((mount) => expandMount(mount, data))),
    }),
    ...(Hostname !== undefined && {
      Hostname: named('expanding hostname failed', () => expand(Hostname, data)),
    }),
  };
}

const SUBJECT: TemplateSubject = {
  service: { id: 'serviceid', name: 'servicename', labels: {} },
  node: { id: 'nodeid', hostname: 'nodeHostname', platform: { Architecture: 'architecture', OS: 'os' } },
  task: { id: 'taskid', slot: 1 },
};

/**
 * Throws invalid_argument where a template of the specification cannot be expanded. Its task and node are not known
 * yet: others stand for them.
 */
export function validateTemplates(
  spec: ContainerSpec,
  service: { name?: string; labels?: StringMap | null } = {},
): void {
  const { name = '', labels } = service;
  const known = { ...SUBJECT.service, ...(name !== '' && { name }), labels: labels ?? {} };
  expandContainerSpec(spec, { ...SUBJECT, service: known });
}

/** What stands before the first `=` is no template. */
function expandEntry(entry: string, data: Value): string {
  const at = entry.indexOf('=');
  return at === -1
    ? entry
    : entry.slice(0, at + 1) +
        named(`expanding env ${JSON.stringify(entry)}`, () => expand(entry.slice(at + 1), data));
}

function expandMount(mount: MountRequest, data: Value): MountRequest {
  const { Source, Target, VolumeOptions } = mount;
  const { Labels, DriverConfig } = VolumeOptions ?? {};
  const text = (what: string, value: string): string =>
    named(`expanding ${what} ${JSON.stringify(value)}`, () => expand(value, data));
  return {
    ...mount,
    ...(Source !== undefined && { Source: text('mount source', Source) }),
    ...(Target !== undefined && { Target: text('mount target', Target) }),
    ...(VolumeOptions && {
      VolumeOptions: {
        ...VolumeOptions,
        ...(Labels && {
          Labels: named('expanding volume labels', () => expandValues(Labels, data)),
        }),
        ...(DriverConfig && {
          DriverConfig: {
            ...DriverConfig,
            ...(DriverConfig.Options && {
              Options: named('expanding volume driver config', () =>
                expandValues(DriverConfig.Options ?? {}, data),
              ),
            }),
          },
        }),
      },
    }),
  };
}

function expandValues(values: StringMap, data: Value): StringMap {
  const expandOne = (key: string, value: string): string =>
    named(`expanding map entry ${JSON.stringify(key)}=${JSON.stringify(value)}`, () => expand(value, data));
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, expandOne(key, value)]));
}

function named<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof EngineError) {
      throw invalidArgument(`${what}: ${errorText(error)}`, { cause: error });
    }
    throw error;
  }
}
