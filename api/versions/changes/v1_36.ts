import { change } from '../change.ts';
import { isObject } from '../json.ts';

const execDie = change({
  id: 'event-exec-die',
  since: 36,
  routes: ['system.events'],
  description: 'GET /events tells exec_die when a command of an exec ends.',
  item: (event) => (isObject(event) && event['Action'] === 'exec_die' ? undefined : event),
});

export const changes = [execDie];
