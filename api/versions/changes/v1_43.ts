import { change } from '../change.ts';
import { editEach, objectAt } from '../json.ts';

const annotations = change({
  id: 'container-annotations',
  since: 43,
  routes: ['container.create'],
  description: 'POST /containers/create takes HostConfig.Annotations.',
  request: ({ body }) => {
    delete objectAt(body, 'HostConfig')?.['Annotations'];
  },
});

const untagged = change({
  id: 'image-untagged',
  since: 43,
  routes: ['image.list'],
  description:
    'Images without a name have empty RepoTags and RepoDigests (<none>:<none> and <none>@<none> before).',
  response: (body) =>
    editEach(body, (image) =>
      isEmpty(image['RepoTags']) && isEmpty(image['RepoDigests'])
        ? { ...image, RepoTags: ['<none>:<none>'], RepoDigests: ['<none>@<none>'] }
        : image,
    ),
});

function isEmpty(list: unknown): boolean {
  return !Array.isArray(list) || list.length === 0;
}

export const changes = [annotations, untagged];
