import { change } from '../change.ts';
import { editAt, isObject, without } from '../json.ts';

const platform = change({
  id: 'image-inspect-platform',
  since: 49,
  routes: ['image.inspect'],
  description: 'GET /images/{name}/json takes platform. An image here has one: another one is 404.',
  request: ({ query }) => query.delete('platform'),
});

const firewall = change({
  id: 'info-firewall',
  since: 49,
  routes: ['system.info'],
  description: 'GET /info tells FirewallBackend.',
  response: (body) => editAt(body, [], (info) => without(info, 'FirewallBackend')),
});

const artifacts = change({
  id: 'info-nondistributable-artifacts',
  since: 49,
  routes: ['system.info'],
  description: 'GET /info no longer tells RegistryConfig.AllowNondistributableArtifacts*, which were null.',
  response: (body) =>
    editAt(body, ['RegistryConfig'], (config) => ({
      AllowNondistributableArtifactsCIDRs: null,
      AllowNondistributableArtifactsHostnames: null,
      ...config,
    })),
});

const commits = change({
  id: 'info-expected-commits',
  since: 49,
  routes: ['system.info'],
  description: 'GET /info no longer tells Expected beside the ID of a commit, which was the same.',
  response: (body) =>
    editAt(body, [], (info) => ({
      ...info,
      ...Object.fromEntries(
        ['ContainerdCommit', 'RuncCommit', 'InitCommit'].flatMap((name) => {
          const commit = info[name];
          return isObject(commit) ? [[name, { ...commit, Expected: commit['ID'] }]] : [];
        }),
      ),
    })),
});

export const changes = [platform, firewall, artifacts, commits];
