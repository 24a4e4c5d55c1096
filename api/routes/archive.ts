import type { PathStat } from '../types/container.ts';
import { empty, ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';

/** Files of containers (docs: api/docs/v1.24.md section 3.1). */
export const archiveRoutes: readonly ServedRoute[] = [
  route({
    id: 'container.archiveInfo',
    method: 'HEAD',
    path: '/containers/:id/archive',
    handler: async ({ params, query }, { containers }) => {
      const stat = await containers.statPath(params['id'] ?? '', query.text('path') ?? '');
      return { kind: 'empty', status: 200, headers: statHeader(stat) };
    },
  }),
  route({
    id: 'container.archiveGet',
    method: 'GET',
    path: '/containers/:id/archive',
    handler: async ({ params, query }, { containers }) => {
      const { stat, tar } = await containers.getArchive(params['id'] ?? '', query.text('path') ?? '');
      return { kind: 'tar', bytes: tar, headers: statHeader(stat) };
    },
  }),
  route({
    id: 'container.archivePut',
    method: 'PUT',
    path: '/containers/:id/archive',
    body: { kind: 'bytes' },
    handler: async ({ params, query, bytes, signal }, { containers }) => {
      await containers.putArchive(params['id'] ?? '', query.text('path') ?? '', bytes, {
        noOverwriteDirNonDir: query.bool('noOverwriteDirNonDir'),
        copyUIDGID: query.bool('copyUIDGID'),
        signal,
      });
      return empty(200);
    },
  }),
  route({
    id: 'container.export',
    method: 'GET',
    path: '/containers/:id/export',
    handler: async ({ params }, { containers }) => ({
      kind: 'tar',
      bytes: await containers.export(params['id'] ?? ''),
      contentType: 'application/octet-stream',
    }),
  }),
  route({
    id: 'container.changes',
    method: 'GET',
    path: '/containers/:id/changes',
    handler: async ({ params }, { containers }) => ok(await containers.changes(params['id'] ?? '')),
  }),
];

function statHeader(stat: PathStat): string[] {
  return ['X-Docker-Container-Path-Stat', Buffer.from(JSON.stringify(stat)).toString('base64')];
}
