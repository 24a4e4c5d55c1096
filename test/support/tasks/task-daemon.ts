/**
 * A berthd whose task executor other processes may use: each line of a connection to the socket that TASK_SOCKET names
 * is a call `{id, method, arguments}`, or `{id, abort: true}`; each answer a line `{id, value | error}`.
 */
import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { createApi } from '../../../api/server.ts';
import { listen } from '../../../api/listen.ts';
import { errorText, isEngineError } from '../../../daemon/base/errors.ts';
import { createLogger } from '../../../daemon/base/logger.ts';
import { Rollback } from '../../../daemon/base/rollback.ts';
import { composeDomain, type ComposeDeps, type Engine } from '../../../daemon/boot/compose.ts';
import { loadConfig } from '../../../daemon/boot/config/config.ts';
import { readFlags } from '../../../daemon/boot/config/flags.ts';
import { run } from '../../../daemon/boot/run.ts';
import type { Executor } from '../../../swarm/agent/executor.ts';
import { readFileSync } from 'node:fs';
import { reviveMaps } from './remote-executor.ts';

async function compose(deps: ComposeDeps): Promise<Engine> {
  const parts = new Rollback(deps.log);
  const domain = await composeDomain(deps, parts);
  const facts = { version: '0', experimental: false, os: 'linux', cgroupVersion: 1 as const };
  const api = createApi({ ports: domain.ports, log: deps.log, facts, allowedOrigin: '' });
  serveTasks(domain.tasks);
  for (const address of deps.addresses) {
    const listener = await listen(api, address, deps.log);
    parts.defer('close listener', () => listener.close());
  }
  return { reload: () => Promise.resolve(), stop: () => parts[Symbol.asyncDispose]() };
}

function serveTasks(executor: Executor): void {
  const path = process.env['TASK_SOCKET'] ?? '';
  rmSync(path, { force: true });
  createServer((socket) => serve(executor, socket)).listen(path);
}

function serve(executor: Executor, socket: Socket): void {
  const calls = new Map<number, AbortController>();
  socket.on('error', () => socket.destroy());
  socket.on('close', () => calls.forEach((call) => call.abort()));
  createInterface(socket).on('line', (line) => {
    const call = JSON.parse(line, reviveMaps) as {
      id: number;
      abort?: true;
      method: keyof Executor;
      arguments: unknown[];
    };
    if (call.abort === true) {
      calls.get(call.id)?.abort();
      return;
    }
    const controller = new AbortController();
    calls.set(call.id, controller);
    void answer(executor, call.method, [...call.arguments, controller.signal], (value) =>
      socket.write(`${JSON.stringify({ id: call.id, ...value })}\n`),
    ).finally(() => calls.delete(call.id));
  });
}

async function answer(
  executor: Executor,
  method: keyof Executor,
  given: unknown[],
  send: (answer: object) => void,
): Promise<void> {
  try {
    // The other side is typed by the same interface.
    const call = executor[method] as (...values: unknown[]) => unknown;
    const result = call.apply(executor, given);
    if (method === 'logs') {
      for await (const line of result as AsyncIterable<unknown>) {
        send({ line });
      }
    }
    send({ value: method === 'logs' ? null : ((await result) ?? null) });
  } catch (error) {
    send({ error: { code: isEngineError(error) ? error.code : 'internal', message: errorText(error) } });
  }
}

const commandLine = readFlags(process.argv.slice(2));
const load = () =>
  loadConfig({ commandLine, environment: process.env, readFile: (file) => readFileSync(file, 'utf8') });
const log = await createLogger({ level: 'debug', pretty: false });
await run({ config: load(), log, loadConfig: load, compose });
