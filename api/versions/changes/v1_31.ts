import { change } from '../change.ts';
import { editAt, objectsAt, without } from '../json.ts';

const volumeCreatedAt = change({
  id: 'volume-created-at',
  since: 31,
  routes: ['volume.list', 'volume.create', 'volume.inspect'],
  description: 'Volumes tell CreatedAt.',
  response: (body) =>
    editAt(body, [], (newest) =>
      'Volumes' in newest
        ? { ...newest, Volumes: objectsAt(newest, 'Volumes').map((volume) => without(volume, 'CreatedAt')) }
        : without(newest, 'CreatedAt'),
    ),
});

export const changes = [volumeCreatedAt];
