import { errorText } from '../../../base/errors.ts';
import { groupArn, serviceArn } from '../input/identifiers.ts';
import { targetLimits } from '../limits.ts';
import {
  beginAnswer,
  clientAddress,
  refuse,
  type ClientRequest,
  type ClientResponse,
} from './client-side.ts';
import { functionEvent, functionReply } from './function-event.ts';
import type { Destination } from './routes.ts';

/** Runs images as functions: filled by `daemon/boot`. */
export interface FunctionRuns {
  /** One container: it reads the event on its standard input, and what it writes is the answer. Throws EngineError. */
  run(image: string, event: string, options: { timeoutMs: number; outputBytesMax: number }): Promise<string>;
}

interface FunctionDeps {
  functions: FunctionRuns;
  nowMs(): number;
}

/** Answers a request with what an image makes of it, run once for this request. Throws nothing. */
export async function answerFunction(
  deps: FunctionDeps,
  listener: string,
  to: Destination,
  { req, res }: { req: ClientRequest; res: ClientResponse },
): Promise<void> {
  to.underWay += 1;
  try {
    const body = await bodyOf(req);
    if (body === undefined) {
      refuse(res, 413, 'the request is too large for a function');
      return;
    }
    const event = functionEvent(to.group.config.lambdaEventStructureVersion ?? 'V1', {
      method: req.method ?? 'GET',
      target: req.url ?? '/',
      headers: req.headers,
      body,
      serviceArn: serviceArn(listener.split('/', 1)[0] ?? ''),
      targetGroupArn: groupArn(to.group.id),
      sourceAddress: clientAddress(req),
      nowMs: deps.nowMs(),
    });
    const text = await deps.functions.run(to.target.id, JSON.stringify(event), {
      timeoutMs: targetLimits.functionMs,
      outputBytesMax: targetLimits.functionBytesMax,
    });
    const reply = functionReply(text);
    if (reply === undefined) {
      refuse(res, 502, 'the function did not answer with {"statusCode", "headers", "body"}');
      return;
    }
    const headers = Object.entries(reply.headers).flat();
    beginAnswer(res, reply.statusCode, [...headers, 'Content-Length', `${reply.body.length}`]);
    res.end(reply.body);
  } catch (error) {
    refuse(res, 502, `the function failed: ${errorText(error)}`);
  } finally {
    to.underWay -= 1;
  }
}

/** Undefined: it is longer than an event may be. */
async function bodyOf(req: ClientRequest): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of req) {
    // A request without an encoding gives buffers.
    const buffer = piece as Buffer;
    bytes += buffer.length;
    if (bytes > targetLimits.functionBytesMax) {
      return undefined;
    }
    pieces.push(buffer);
  }
  return Buffer.concat(pieces);
}
