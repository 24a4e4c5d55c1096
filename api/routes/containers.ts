import { invalidArgument } from '../../daemon/base/errors.ts';
import type { AttachOptions, WaitCondition } from '../types/ports.ts';
import type { Query } from '../query.ts';
import { containerControlRoutes } from './container-control.ts';
import { containerCreateAccepts, containerCreateSchema } from '../schemas/container-create.ts';
import { prepareContainerCreate } from '../schemas/prepare.ts';
import type { ContainerCreateRequest } from '../types/container.ts';
import { logsOptions } from './logs-options.ts';
import { created, empty, ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';
import { defined } from './values.ts';

const NO_STREAM = 'Bad parameters: you must choose at least one stream';

/** Container operations (docs: api/docs/v1.24.md section 3.1). */
export const containerRoutes: readonly ServedRoute[] = [
  ...containerControlRoutes,
  route({
    id: 'container.list',
    method: 'GET',
    path: '/containers/json',
    handler: async ({ query }, { containers }) =>
      ok(
        await containers.list({
          all: query.bool('all'),
          limit: query.int('limit') ?? 0,
          ...defined({ since: query.text('since'), before: query.text('before') }),
          size: query.bool('size'),
          filters: query.filters(),
        }),
      ),
  }),
  route<ContainerCreateRequest>({
    id: 'container.create',
    method: 'POST',
    path: '/containers/create',
    body: {
      kind: 'json',
      schema: containerCreateSchema,
      accepts: containerCreateAccepts,
      empty: 'refused',
      prepare: prepareContainerCreate,
    },
    handler: async ({ query, body, signal, speaks }, { containers }) => {
      if (speaks('kernel-memory-is-ignored')) {
        delete body.HostConfig?.KernelMemory;
      }
      if (speaks('kernel-memory-tcp-is-ignored')) {
        delete body.HostConfig?.KernelMemoryTCP;
      }
      if (speaks('endpoints-alone-have-macs') && body.MacAddress) {
        throw invalidArgument(
          'container-wide MAC address no longer supported; use endpoint-specific MAC address instead ' +
            `(MacAddress: ${JSON.stringify(body.MacAddress)})`,
        );
      }
      const options = { ...defined({ platform: query.text('platform') }), signal };
      return created(await containers.create(query.text('name'), body, options));
    },
  }),
  route({
    id: 'container.inspect',
    method: 'GET',
    path: '/containers/:id/json',
    handler: async ({ params, query }, { containers }) => {
      const told = await containers.inspect(ref(params), { size: query.bool('size') });
      const { MacAddress, ...Config } = told.Config;
      // As it is where it can be: it is put into JSON once (api/pipeline/json-text.ts).
      return MacAddress === undefined ? ok(told) : ok({ ...told, Config }, { MacAddress });
    },
  }),
  route({
    id: 'container.start',
    method: 'POST',
    path: '/containers/:id/start',
    body: {
      kind: 'must-be-empty',
      message:
        'starting container with non-empty request body was deprecated since API v1.22 and removed in v1.24',
    },
    handler: async ({ params, query }, { containers }) => {
      refuseCheckpoint(query);
      await containers.start(ref(params), defined({ detachKeys: query.text('detachKeys') }));
      return empty(204);
    },
  }),
  route({
    id: 'container.stop',
    method: 'POST',
    path: '/containers/:id/stop',
    handler: async ({ params, query }, { containers }) => {
      await containers.stop(ref(params), stopOptions(query));
      return empty(204);
    },
  }),
  route({
    id: 'container.restart',
    method: 'POST',
    path: '/containers/:id/restart',
    handler: async ({ params, query }, { containers }) => {
      await containers.restart(ref(params), stopOptions(query));
      return empty(204);
    },
  }),
  route({
    id: 'container.kill',
    method: 'POST',
    path: '/containers/:id/kill',
    handler: async ({ params, query }, { containers }) => {
      await containers.kill(ref(params), defined({ signal: query.text('signal') }));
      return empty(204);
    },
  }),
  route({
    id: 'container.wait',
    method: 'POST',
    path: '/containers/:id/wait',
    handler: async ({ params, query, signal, speaks }, { containers }) => {
      const options = { condition: waitCondition(query), signal };
      const { done } = await containers.wait(ref(params), options);
      return speaks('wait-sends-headers-at-once') ? { kind: 'late-json', body: done } : ok(await done);
    },
  }),
  route({
    id: 'container.attach',
    method: 'POST',
    path: '/containers/:id/attach',
    handler: async ({ params, query }, { containers }) => ({
      kind: 'hijack',
      conversation: await containers.attach(ref(params), attachOptions(query)),
    }),
  }),
  route({
    id: 'container.attachWebsocket',
    method: 'GET',
    path: '/containers/:id/attach/ws',
    handler: async ({ params, query, speaks }, { containers }) => ({
      kind: 'websocket',
      binary: speaks('websocket-sends-binary'),
      conversation: await containers.attach(ref(params), {
        ...attachOptions(query),
        ...(!speaks('websocket-selects-streams') && { stdin: true, stdout: true, stderr: true }),
        unframed: true,
      }),
    }),
  }),
  route({
    id: 'container.resize',
    method: 'POST',
    path: '/containers/:id/resize',
    handler: async ({ params, query }, { containers }) => {
      await containers.resize(ref(params), { height: query.size('h'), width: query.size('w') });
      return empty(200);
    },
  }),
  route({
    id: 'container.logs',
    method: 'GET',
    path: '/containers/:id/logs',
    handler: async ({ params, query, signal }, { containers }) => ({
      kind: 'frames',
      stream: await containers.logs(ref(params), logsOptions(query, signal, NO_STREAM)),
    }),
  }),
  route({
    id: 'container.rename',
    method: 'POST',
    path: '/containers/:id/rename',
    handler: async ({ params, query }, { containers }) => {
      await containers.rename(ref(params), query.text('name') ?? '');
      return empty(204);
    },
  }),
  route({
    id: 'container.remove',
    method: 'DELETE',
    // With `link` the name of a link, `parent/alias`.
    path: '/containers/*id',
    handler: async ({ params, query }, { containers }) => {
      await containers.remove(ref(params), {
        volumes: query.bool('v'),
        force: query.bool('force'),
        link: query.bool('link'),
      });
      return empty(204);
    },
  }),
  route({
    id: 'container.prune',
    method: 'POST',
    path: '/containers/prune',
    handler: async ({ query }, { containers }) => ok(await containers.prune(query.filters())),
  }),
];

function ref(params: Readonly<Record<string, string>>): string {
  return params['id'] ?? '';
}

/** Parameters of dockerd's experimental mode, in its words. */
function refuseCheckpoint(query: Query): void {
  const checkpoint = query.text('checkpoint');
  if (checkpoint !== undefined) {
    throw invalidArgument(
      `checkpoint is only supported in experimental mode (checkpoint: ${JSON.stringify(checkpoint)})`,
    );
  }
  const directory = query.text('checkpoint-dir');
  if (directory !== undefined) {
    throw invalidArgument(
      `custom checkpointdir is not supported (checkpoint-dir: ${JSON.stringify(directory)})`,
    );
  }
}

function stopOptions(query: Query): { timeoutS?: number; signal?: string } {
  return defined({ timeoutS: query.int('t'), signal: query.text('signal') });
}

function waitCondition(query: Query): WaitCondition {
  const condition = query.text('condition') ?? 'not-running';
  if (condition !== 'not-running' && condition !== 'next-exit' && condition !== 'removed') {
    throw invalidArgument(`invalid condition: "${condition}"`);
  }
  return condition;
}

function attachOptions(query: Query): AttachOptions {
  return {
    logs: query.bool('logs'),
    stream: query.bool('stream'),
    stdin: query.bool('stdin'),
    stdout: query.bool('stdout'),
    stderr: query.bool('stderr'),
    ...defined({ detachKeys: query.text('detachKeys') }),
  };
}
