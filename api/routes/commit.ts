import { invalidArgument } from '../../daemon/base/errors.ts';
import { containerConfigSchema } from '../schemas/container-create.ts';
import { prepareContainerConfig } from '../schemas/prepare.ts';
import type { ContainerConfig } from '../types/container.ts';
import { created, route } from './route.ts';
import type { ServedRoute } from './route.ts';

/** Making images of containers (docs: api/docs/v1.24.md section 3.2). */
export const commitRoutes: readonly ServedRoute[] = [
  route<ContainerConfig>({
    id: 'image.commit',
    method: 'POST',
    path: '/commit',
    body: {
      kind: 'json',
      schema: containerConfigSchema,
      empty: 'allowed',
      prepare: prepareContainerConfig,
    },
    handler: async ({ query, body, signal }, { containers }) => {
      const container = query.text('container') ?? '';
      if (container === '') {
        throw invalidArgument('parameter container is required: which container to commit');
      }
      return created(
        await containers.commit(container, {
          pause: query.bool('pause', true),
          ...(Object.keys(body).length > 0 && { config: body }),
          changes: query.texts('changes'),
          author: query.text('author') ?? '',
          comment: query.text('comment') ?? '',
          repo: query.text('repo') ?? '',
          tag: query.text('tag') ?? '',
          signal,
        }),
      );
    },
  }),
];
