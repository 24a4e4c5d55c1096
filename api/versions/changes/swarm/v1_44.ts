import { invalidArgument } from '../../../../daemon/base/errors.ts';
import { change } from '../../change.ts';
import { objectAt, objectsAt } from '../../json.ts';
import { SERVICE_WRITES, TASK_SPEC_ROUTES, newFields, ofContainers } from './fields.ts';

const containerSpec = change({
  id: 'container-spec-1.44',
  since: 44,
  routes: TASK_SPEC_ROUTES,
  description:
    'Privileges of a ContainerSpec have Seccomp, AppArmor and NoNewPrivileges, its Healthcheck has StartInterval.',
  ...newFields(
    ofContainers(
      'Privileges.Seccomp',
      'Privileges.AppArmor',
      'Privileges.NoNewPrivileges',
      'Healthcheck.StartInterval',
    ),
  ),
});

const networks = change({
  id: 'service-networks',
  since: 44,
  routes: SERVICE_WRITES,
  description:
    'Networks beside TaskTemplate is no longer read (taken before where TaskTemplate.Networks has none).',
  request: ({ body }) => {
    const spec = objectAt(body);
    const given = spec?.['Networks'];
    if (spec === undefined || !Array.isArray(given)) {
      return;
    }
    delete spec['Networks'];
    spec['TaskTemplate'] ??= {};
    const task = objectAt(spec, 'TaskTemplate');
    const own = task?.['Networks'];
    if (task !== undefined && (own === undefined || (Array.isArray(own) && own.length === 0))) {
      task['Networks'] = given;
    }
  },
});

const readOnlyRecursive = change({
  id: 'service-bind-read-only-recursive',
  since: 44,
  routes: TASK_SPEC_ROUTES,
  description:
    'Read-only bind mounts of a ContainerSpec are read-only recursively where the kernel can; BindOptions has ' +
    'ReadOnlyNonRecursive and ReadOnlyForceRecursive. Mounts of older clients stay non-recursive, and one that ' +
    'forces is refused.',
  ...newFields(
    ofContainers('Mounts.BindOptions.ReadOnlyNonRecursive', 'Mounts.BindOptions.ReadOnlyForceRecursive'),
  ),
  request: ({ body }) => {
    const mounts = objectsAt(body, 'TaskTemplate', 'ContainerSpec', 'Mounts');
    for (const mount of mounts.filter((each) => each['Type'] === 'bind')) {
      const options = objectAt(mount, 'BindOptions');
      if (options?.['ReadOnlyForceRecursive'] === true) {
        throw invalidArgument('BindOptions.ReadOnlyForceRecursive needs API version 1.44 or newer');
      }
      delete options?.['ReadOnlyNonRecursive'];
      if (mount['ReadOnly'] === true) {
        mount['BindOptions'] = { ...options, ReadOnlyNonRecursive: true };
      }
    }
  },
});

export const changes = [containerSpec, networks, readOnlyRecursive];
