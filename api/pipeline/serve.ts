import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Socket } from 'node:net';
import { EngineError, invalidArgument } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { EnginePorts } from '../types/ports.ts';
import { Query } from '../query.ts';
import type { ApiRequest, Route, ServedRoute } from '../routes/route.ts';
import { conform } from '../schemas/conform.ts';
import type { Validator } from '../schemas/validator.ts';
import type { ChangeableRequest } from '../versions/change.ts';
import type { Dialect, Dialects } from '../versions/dialect.ts';
import { readBody } from './body.ts';
import type { Reply } from './reply.ts';
import { send } from './send.ts';

export interface ServeDeps {
  ports: EnginePorts;
  log: Logger;
  dialects: Dialects;
  validator: Validator;
  /** Aborts the signals of running requests; see `Api.endStreams`. */
  running: Set<AbortController>;
  hijacked: Set<{ end(): void }>;
}

/** One request that has found its route. */
export interface Incoming {
  req: IncomingMessage;
  res: ServerResponse;
  upgraded: Socket | undefined;
  reply: Reply;
  version: number;
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
}

/**
 * The walk of a request, in this order: body, older request to newest, validation, handler, newest answer to older,
 * send. Rejects only as long as no byte of an answer is sent.
 */
export async function serve(route: Route, incoming: Incoming, deps: ServeDeps): Promise<void> {
  const dialect = deps.dialects.of(incoming.version, route.id);
  const sending = { reply: incoming.reply, dialect, log: deps.log, hijacked: deps.hijacked };
  if ('refused' in route) {
    throw new EngineError('not_implemented', route.refused);
  }
  const changeable: ChangeableRequest = {
    query: incoming.query,
    body: await readBody(incoming, route.body),
  };
  dialect.upgrade(changeable);
  if (route.body.kind === 'json') {
    if (route.body.accepts !== undefined) {
      // What only older versions know has been made newest by now, or is unknown to this one.
      changeable.body = conform(route.body.schema, changeable.body);
    }
    deps.validator.check(route.body.schema, changeable.body);
  }
  const request = new HandledRequest(route, changeable, { incoming, dialect, running: deps.running });
  return send(await route.handler(request, deps.ports), sending);
}

/** What a handler sees. The signal is made when a handler first asks for it: most never do. */
class HandledRequest implements ApiRequest<unknown> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: unknown;
  readonly speaks: Dialect['speaks'];
  /** Bound, as handlers take it apart. */
  readonly header = (name: string): string | undefined => {
    const value = this.#incoming.req.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  readonly #route: ServedRoute;
  readonly #incoming: Incoming;
  readonly #running: Set<AbortController>;
  #controller: AbortController | undefined;

  constructor(
    route: ServedRoute,
    changeable: ChangeableRequest,
    context: { incoming: Incoming; dialect: Dialect; running: Set<AbortController> },
  ) {
    this.params = context.incoming.params;
    this.query = new Query(changeable.query);
    this.body = changeable.body;
    this.speaks = context.dialect.speaks;
    this.#route = route;
    this.#incoming = context.incoming;
    this.#running = context.running;
  }

  get bytes(): Readable {
    if (this.#incoming.upgraded) {
      throw invalidArgument(`${this.#route.id} takes no Upgrade header: its body is a stream of its own`);
    }
    return this.#incoming.req;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      const running = this.#running;
      running.add(controller);
      this.#incoming.res.once('close', () => {
        running.delete(controller);
        controller.abort(new EngineError('canceled', 'client hung up'));
      });
      this.#controller = controller;
    }
    return this.#controller.signal;
  }
}
