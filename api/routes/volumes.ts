import { invalidArgument } from '../../daemon/base/errors.ts';
import { volumeCreateSchema } from '../schemas/others.ts';
import type { VolumeCreateRequest } from '../types/system.ts';
import { created, empty, ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';

/** Volume operations (docs: api/docs/v1.24.md section 3.6). */
export const volumeRoutes: readonly ServedRoute[] = [
  route({
    id: 'volume.list',
    method: 'GET',
    path: '/volumes',
    handler: async ({ query }, { volumes }) => ok(await volumes.list(query.filters())),
  }),
  route<VolumeCreateRequest>({
    id: 'volume.create',
    method: 'POST',
    path: '/volumes/create',
    body: { kind: 'json', schema: volumeCreateSchema, empty: 'allowed' },
    handler: async ({ body }, { volumes }) => {
      if (body.ClusterVolumeSpec !== undefined) {
        throw invalidArgument('ClusterVolumeSpec: cluster volumes are not supported yet');
      }
      return created(await volumes.create(body));
    },
  }),
  route({
    id: 'volume.prune',
    method: 'POST',
    path: '/volumes/prune',
    handler: async ({ query }, { volumes }) => ok(await volumes.prune(query.filters())),
  }),
  route({
    id: 'volume.inspect',
    method: 'GET',
    path: '/volumes/:name',
    handler: async ({ params }, { volumes }) => ok(await volumes.inspect(params['name'] ?? '')),
  }),
  route({
    id: 'volume.remove',
    method: 'DELETE',
    path: '/volumes/:name',
    handler: async ({ params, query }, { volumes }) => {
      await volumes.remove(params['name'] ?? '', { force: query.bool('force') });
      return empty(204);
    },
  }),
];
