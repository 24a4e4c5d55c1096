import { invalidArgument } from '../../daemon/base/errors.ts';
import { execCreateSchema, execStartSchema } from '../schemas/others.ts';
import { prepareExecCreate } from '../schemas/prepare.ts';
import type { ExecCreateRequest, ExecStartRequest } from '../types/exec.ts';
import { created, empty, ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';
import { defined } from './values.ts';

/** Commands in running containers (docs: api/docs/v1.24.md section 3.5). */
export const execRoutes: readonly ServedRoute[] = [
  route<ExecCreateRequest>({
    id: 'exec.create',
    method: 'POST',
    path: '/containers/:id/exec',
    body: { kind: 'json', schema: execCreateSchema, empty: 'allowed', prepare: prepareExecCreate },
    handler: async ({ params, body }, { execs }) => created(await execs.create(params['id'] ?? '', body)),
  }),
  route<ExecStartRequest>({
    id: 'exec.start',
    method: 'POST',
    path: '/exec/:id/start',
    body: { kind: 'json', schema: execStartSchema, empty: 'allowed' },
    handler: async ({ params, body }, { execs }) => {
      const tty = body.Tty ?? false;
      if (body.ConsoleSize && !tty) {
        throw invalidArgument('console size is only supported when TTY is enabled');
      }
      const conversation = await execs.start(params['id'] ?? '', {
        detach: body.Detach ?? false,
        tty,
        ...defined({ consoleSize: body.ConsoleSize ?? undefined }),
      });
      return conversation ? { kind: 'hijack', conversation } : empty(200);
    },
  }),
  route({
    id: 'exec.resize',
    method: 'POST',
    path: '/exec/:id/resize',
    handler: async ({ params, query, speaks }, { execs }) => {
      await execs.resize(params['id'] ?? '', { height: query.size('h'), width: query.size('w') });
      return empty(speaks('exec-resize-answers-200') ? 200 : 201);
    },
  }),
  route({
    id: 'exec.inspect',
    method: 'GET',
    path: '/exec/:id/json',
    handler: async ({ params }, { execs }) => ok(await execs.inspect(params['id'] ?? '')),
  }),
];
