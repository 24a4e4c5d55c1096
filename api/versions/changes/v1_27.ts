import { change } from '../change.ts';
import { editAt, without } from '../json.ts';

function withoutOnlineCpus(stats: unknown): unknown {
  return ['cpu_stats', 'precpu_stats'].reduce(
    (lowered, part) => editAt(lowered, [part], (cpu) => without(cpu, 'online_cpus')),
    stats,
  );
}

const onlineCpus = change({
  id: 'stats-online-cpus',
  since: 27,
  routes: ['container.stats'],
  description: 'GET /containers/{id}/stats tells online_cpus.',
  response: withoutOnlineCpus,
  item: withoutOnlineCpus,
});

export const changes = [onlineCpus];
