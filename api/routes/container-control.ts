import { invalidArgument } from '../../daemon/base/errors.ts';
import { containerUpdateSchema } from '../schemas/others.ts';
import { prepareContainerUpdate } from '../schemas/prepare.ts';
import type { ContainerUpdateRequest } from '../types/container.ts';
import { empty, ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';

/** Operations on what a running container may use and does (docs: api/docs/v1.24.md section 3.1). */
export const containerControlRoutes: readonly ServedRoute[] = [
  route({
    id: 'container.top',
    method: 'GET',
    path: '/containers/:id/top',
    handler: async ({ params, query }, { containers }) =>
      ok(await containers.top(params['id'] ?? '', query.text('ps_args') ?? '')),
  }),
  route({
    id: 'container.stats',
    method: 'GET',
    path: '/containers/:id/stats',
    handler: async ({ params, query, signal }, { containers }) => {
      const id = params['id'] ?? '';
      const oneShot = query.bool('one-shot');
      if (query.bool('stream', true)) {
        if (oneShot) {
          throw invalidArgument('cannot have stream=true and one-shot=true');
        }
        return { kind: 'events', events: containers.statsStream(id, { signal }) };
      }
      return ok(await containers.stats(id, { oneShot, signal }));
    },
  }),
  route<ContainerUpdateRequest>({
    id: 'container.update',
    method: 'POST',
    path: '/containers/:id/update',
    body: {
      kind: 'json',
      schema: containerUpdateSchema,
      empty: 'refused',
      prepare: prepareContainerUpdate,
    },
    handler: async ({ params, body, speaks }, { containers }) => {
      if (speaks('kernel-memory-is-ignored')) {
        delete body.KernelMemory;
      }
      if (speaks('kernel-memory-tcp-is-ignored')) {
        delete body.KernelMemoryTCP;
      }
      return ok(await containers.update(params['id'] ?? '', body));
    },
  }),
  route({
    id: 'container.pause',
    method: 'POST',
    path: '/containers/:id/pause',
    handler: async ({ params }, { containers }) => {
      await containers.pause(params['id'] ?? '');
      return empty(204);
    },
  }),
  route({
    id: 'container.unpause',
    method: 'POST',
    path: '/containers/:id/unpause',
    handler: async ({ params }, { containers }) => {
      await containers.unpause(params['id'] ?? '');
      return empty(204);
    },
  }),
];
