import { change } from '../change.ts';
import { editAt, objectAt, without } from '../json.ts';

const logsUntil = change({
  id: 'logs-until',
  since: 35,
  routes: ['container.logs'],
  description: 'GET /containers/{id}/logs takes until.',
  request: ({ query }) => query.delete('until'),
});

const execWorkingDir = change({
  id: 'exec-working-dir',
  since: 35,
  routes: ['exec.create'],
  description: 'POST /containers/{id}/exec takes WorkingDir.',
  request: ({ body }) => {
    delete objectAt(body)?.['WorkingDir'];
  },
});

const versionComponents = change({
  id: 'version-components',
  since: 35,
  routes: ['system.version'],
  description: 'GET /version tells Platform and Components.',
  response: (body) => editAt(body, [], (version) => without(version, 'Platform', 'Components')),
});

export const changes = [logsUntil, execWorkingDir, versionComponents];
