import { change } from '../change.ts';
import { editAt, without } from '../json.ts';

const versionComponents = change({
  id: 'version-components',
  since: 35,
  routes: ['system.version'],
  description: 'GET /version tells Platform and Components.',
  response: (body) => editAt(body, [], (version) => without(version, 'Platform', 'Components')),
});

export const changes = [versionComponents];
