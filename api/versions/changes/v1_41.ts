import { change } from '../change.ts';
import { editAt, isObject, objectAt, withFilter, without } from '../json.ts';

const cgroupnsMode = change({
  id: 'cgroupns-mode',
  since: 41,
  routes: ['container.create'],
  description:
    "The default CgroupnsMode of a new container is the daemon's (host before, on hosts with cgroup v1). " +
    'POST /containers/create takes platform.',
  request: ({ body, query }, facts) => {
    query.delete('platform');
    const hostConfig = objectAt(body, 'HostConfig');
    if (hostConfig && facts.cgroupVersion === 1 && (hostConfig['CgroupnsMode'] ?? '') === '') {
      hostConfig['CgroupnsMode'] = 'host';
    }
  },
});

const imageFilter = change({
  id: 'image-filter-parameter',
  since: 41,
  routes: ['image.list'],
  description: 'GET /images/json no longer takes filter; filters={"reference":[...]} does the same.',
  request: ({ query }) => {
    const filter = query.get('filter');
    query.delete('filter');
    if (filter !== null && filter !== '') {
      query.set('filters', withFilter(query.get('filters'), 'reference', filter));
    }
  },
});

const cgroupVersion = change({
  id: 'info-cgroup-version',
  since: 41,
  routes: ['system.info'],
  description: 'GET /info tells CgroupVersion.',
  response: (body) => editAt(body, [], (info) => without(info, 'CgroupVersion')),
});

const pruneEvents = change({
  id: 'event-prune',
  since: 41,
  routes: ['system.events'],
  description: 'GET /events tells prune with the space reclaimed.',
  item: (event) => (isObject(event) && event['Action'] === 'prune' ? undefined : event),
});

const oneShot = change({
  id: 'stats-one-shot',
  since: 41,
  routes: ['container.stats'],
  description: 'GET /containers/{id}/stats takes one-shot.',
  request: ({ query }) => query.delete('one-shot'),
});

export const changes = [oneShot, cgroupnsMode, imageFilter, cgroupVersion, pruneEvents];
