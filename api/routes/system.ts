import { invalidArgument } from '../../daemon/base/errors.ts';
import { authSchema } from '../schemas/others.ts';
import type { AuthRequest } from '../types/system.ts';
import { ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';
import type { Query } from '../query.ts';
import type { DiskUsageType, SystemInfo } from '../types/system.ts';
import { defined, wallNano } from './values.ts';

/** The daemon itself (docs: api/docs/v1.24.md section 3.3). */
export const systemRoutes: readonly ServedRoute[] = [
  route({
    id: 'system.ping',
    method: 'GET',
    path: '/_ping',
    handler: (_request, { swarm }) => Promise.resolve({ kind: 'pong', swarm: swarm.role }),
  }),
  route({
    id: 'system.pingHead',
    method: 'HEAD',
    path: '/_ping',
    handler: (_request, { swarm }) => Promise.resolve({ kind: 'pong', swarm: swarm.role }),
  }),
  route({
    id: 'system.info',
    method: 'GET',
    path: '/info',
    handler: async (_request, { system, swarm }) => {
      const [engine, Swarm] = await Promise.all([system.info(), swarm.info()]);
      return ok({ ...engine, Swarm } satisfies SystemInfo);
    },
  }),
  route({
    id: 'system.version',
    method: 'GET',
    path: '/version',
    handler: async (_request, { system }) => ok(await system.version()),
  }),
  route<AuthRequest>({
    id: 'system.auth',
    method: 'POST',
    path: '/auth',
    body: { kind: 'json', schema: authSchema, empty: 'refused' },
    handler: async ({ body, signal }, { registries }) => ok(await registries.login(body, signal)),
  }),
  route({
    id: 'system.diskUsage',
    method: 'GET',
    path: '/system/df',
    handler: async ({ query }, { system }) => ok(await system.diskUsage(diskUsageTypes(query))),
  }),
  route({
    id: 'plugin.list',
    method: 'GET',
    path: '/plugins',
    partly: 'no plugin is ever installed, the list is empty',
    handler: ({ query }) => {
      refuseFilters(query, ['enabled', 'capability']);
      return Promise.resolve(ok([]));
    },
  }),
  route({
    id: 'system.events',
    method: 'GET',
    path: '/events',
    handler: async ({ query, signal }, { events }) => {
      const now = wallNano();
      const since = query.time('since', now);
      const until = query.time('until', now);
      if (since !== undefined && until !== undefined && since > until) {
        throw invalidArgument(
          `\`since\` time (${query.text('since')}) cannot be after \`until\` time (${query.text('until')})`,
        );
      }
      const options = { ...defined({ since, until }), filters: query.filters(), signal };
      return { kind: 'events', events: events.stream(options) };
    },
  }),
];

function refuseFilters(query: Query, known: readonly string[]): void {
  const wrong = [...query.filters().keys()].find((name) => !known.includes(name));
  if (wrong !== undefined) {
    throw invalidArgument(`invalid filter '${wrong}'`);
  }
}

const DISK_USAGE_TYPES: readonly DiskUsageType[] = ['container', 'image', 'volume', 'build-cache'];

/** None asked for are all. */
function diskUsageTypes(query: Query): ReadonlySet<DiskUsageType> {
  const asked = query.texts('type').map((text) => {
    const type = DISK_USAGE_TYPES.find((known) => known === text);
    if (type === undefined) {
      throw invalidArgument(`unknown object type: ${text}`);
    }
    return type;
  });
  return new Set(asked.length === 0 ? DISK_USAGE_TYPES : asked);
}
