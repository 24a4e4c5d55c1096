import { serveBuildkit } from '../buildkit/serve.ts';
import { ClientSession } from '../buildkit/session/client-session.ts';
import { empty, route } from './route.ts';
import type { ServedRoute } from './route.ts';

const SESSION = 'x-docker-expose-session-';

/** Connections of BuildKit's clients (moby api/server/router/grpc and session): HTTP/2 after an upgrade. */
export const buildkitRoutes: readonly ServedRoute[] = [
  route({
    id: 'system.grpc',
    method: 'POST',
    path: '/grpc',
    partly: "Control and LLBBridge as far as builds of Dockerfiles and clients' graphs need them",
    handler: (_request, { buildkit }) =>
      Promise.resolve({
        kind: 'h2c',
        serve: (connection, log) => {
          const server = serveBuildkit(connection, buildkit, log);
          return { end: () => server.destroy(), closed: server.closed };
        },
      }),
  }),
  route({
    id: 'system.session',
    method: 'POST',
    path: '/session',
    handler: ({ header }, { buildkit }) => {
      const facts = {
        id: header(`${SESSION}uuid`) ?? '',
        sharedKey: header(`${SESSION}sharedkey`) ?? '',
        // Repeated headers come joined; the name of a method has no comma.
        methods: (header(`${SESSION}grpc-method`) ?? '').split(',').map((method) => method.trim()),
      };
      buildkit.refuseSession(facts.id);
      return Promise.resolve({
        kind: 'h2c',
        serve: (connection, log) => {
          const session = new ClientSession(connection, facts, log);
          return { end: () => session.end(), closed: buildkit.attachSession(session) };
        },
      });
    },
  }),
  route({
    id: 'image.buildCancel',
    method: 'POST',
    path: '/build/cancel',
    handler: ({ query }, { buildkit }) => {
      buildkit.cancel(query.text('id') ?? '');
      return Promise.resolve(empty(204));
    },
  }),
];
