import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { unreachable } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Conversation } from '../types/ports.ts';
import type { Result } from '../routes/route.ts';
import { sendEvents } from '../streams/events.ts';
import { watchForHangUp } from '../streams/hang-up.ts';
import { sendFrames, streamTypes } from '../streams/frames.ts';
import { sendJsonLines } from '../streams/json-lines.ts';
import { sendTar } from '../streams/tar.ts';
import { websocketStdio } from '../streams/websocket.ts';
import type { Dialect } from '../versions/dialect.ts';
import { jsonLine, jsonLineOf } from './json-text.ts';
import type { Reply } from './reply.ts';

const PING_HEADERS = [
  'Builder-Version',
  '2',
  'Cache-Control',
  'no-cache, no-store, must-revalidate',
  'Pragma',
  'no-cache',
];

/** Everything needed to turn a result into bytes. */
export interface Sending {
  reply: Reply;
  dialect: Dialect;
  log: Logger;
  /** Connections taken out of HTTP, for as long as they are; ended when the daemon stops. */
  hijacked: Set<{ end(): void }>;
}

/** Sends a result. Rejects only as long as nothing is sent, so that the error can still be an HTTP status. */
export async function send(result: Result, sending: Sending): Promise<void> {
  const { reply, dialect, log } = sending;
  switch (result.kind) {
    case 'json':
      reply.json(result.status, jsonLineOf(result.body, result.legacy, dialect));
      return;
    case 'empty':
      reply.empty(result.status, result.headers);
      return;
    case 'pong':
      reply.text(200, 'OK', [...PING_HEADERS, 'Swarm', result.swarm]);
      return;
    case 'failure':
      reply.json(result.status, jsonLine({ message: result.message }));
      return;
    case 'late-json':
      await sendLate(result.body, sending);
      return;
    case 'json-lines':
      await sendJsonLines(reply, result, log);
      return;
    case 'events':
      await sendEvents(reply, result.events, {
        contentType: result.contentType ?? 'application/json',
        downgradeItem: dialect.downgradeItem,
        log,
      });
      return;
    case 'tar':
      await sendTar(reply, result, log);
      return;
    case 'frames':
      await sendFrames(reply, result.stream, { dialect, log });
      return;
    case 'hijack':
      await converse(result.conversation, sending);
      return;
    case 'h2c':
      await serveHttp2(result.serve, sending);
      return;
    case 'websocket':
      await converseByWebsocket(result, sending);
      return;
    default:
      unreachable(result);
  }
}

/** Hands the connection to the engine until the conversation is over, and closes the sides that are still open. */
async function converse(conversation: Conversation, { reply, dialect, hijacked }: Sending): Promise<void> {
  if (!reply.canHijack) {
    conversation.abandon();
    return;
  }
  const connection = reply.hijack(streamTypes(conversation.tty, dialect));
  await talk(conversation, connection, hijacked);
}

async function converseByWebsocket(
  { conversation, binary }: Extract<Result, { kind: 'websocket' }>,
  { reply, hijacked }: Sending,
): Promise<void> {
  let socket: WebSocket | undefined;
  try {
    socket = await reply.websocket();
  } finally {
    if (socket === undefined) {
      conversation.abandon();
    }
  }
  if (socket !== undefined) {
    await talk(conversation, websocketStdio(socket, { binary }), hijacked);
  }
}

/** Ends with the connection, or with what is served on it. */
async function serveHttp2(
  serve: Extract<Result, { kind: 'h2c' }>['serve'],
  { reply, hijacked, log }: Sending,
): Promise<void> {
  const connection = reply.upgradeToHttp2();
  const served = serve(connection, log);
  const ending = { end: served.end };
  hijacked.add(ending);
  try {
    await served.closed;
  } catch (error) {
    log.debug({ err: error }, 'an HTTP/2 connection ended early');
  } finally {
    hijacked.delete(ending);
    connection.destroy();
  }
}

async function talk(
  conversation: Conversation,
  connection: Duplex,
  hijacked: Sending['hijacked'],
): Promise<void> {
  hijacked.add(connection);
  const stopWatching = watchForHangUp(connection);
  try {
    await conversation.connect(connection);
  } finally {
    stopWatching();
    hijacked.delete(connection);
    closeSoon(connection);
  }
}

/** Everything written is still sent; a client that keeps its side open does not keep the connection. */
function closeSoon(connection: Duplex): void {
  connection.end();
  if (connection.writableFinished) {
    connection.destroy();
  } else {
    connection.once('finish', () => connection.destroy());
  }
}

/** Headers go out at once; whatever happens to the body afterwards, the status is 200. */
async function sendLate(body: Promise<unknown>, { reply, dialect, log }: Sending): Promise<void> {
  const res = reply.begin('application/json');
  res.flushHeaders();
  try {
    res.end(`${JSON.stringify(dialect.downgrade(await body))}\n`);
  } catch (error) {
    log.debug({ err: error }, 'answer ended early');
    res.destroy();
  }
}
