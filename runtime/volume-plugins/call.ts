import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError, errnoOf, errorText, internal } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { callHttp } from '../http/call.ts';
import type { HttpResponse } from '../http/call.ts';
import type { PluginAddress } from './discovery.ts';

/** The content type of the protocol, version 1.2 (docs: docker engine, extend, plugin_api). */
const CONTENT_TYPE = 'application/vnd.docker.plugins.v1.2+json';
/** The plugin is not there, or just being started again. */
const NOT_THERE = new Set(['ECONNREFUSED', 'ENOENT', 'ECONNRESET']);

export interface PluginQuestion {
  plugin: string;
  /** `VolumeDriver.Mount` and the like. */
  method: string;
  body?: Readonly<Record<string, unknown>>;
  timeoutMs: number;
  /** Waits a moment for a plugin that takes no connections; without it, that is an error at once. */
  patient: boolean;
}

/**
 * One call of the plugin protocol; answers the JSON object that came. Throws internal with the plugin's own words for
 * an error of its (details.isRefusal), unavailable when it does not answer (details.isDown: it takes no connections),
 * internal when what it answers makes no sense.
 */
export async function callPlugin(
  address: PluginAddress,
  question: PluginQuestion,
): Promise<Record<string, unknown>> {
  const { method } = question;
  const answer = await send(address, question);
  const parsed = parseObject(answer.text);
  const refusal = typeof parsed?.['Err'] === 'string' ? parsed['Err'] : '';
  if (answer.status !== 200) {
    throw refused(`${method}: ${refusal || answer.text.slice(0, 200) || `status ${answer.status}`}`);
  }
  if (refusal !== '') {
    throw refused(refusal);
  }
  if (parsed === undefined) {
    throw internal(`${method}: volume plugin ${question.plugin} answered no JSON object`);
  }
  return parsed;
}

async function send(address: PluginAddress, question: PluginQuestion): Promise<HttpResponse> {
  const { plugin, method, body, timeoutMs, patient } = question;
  const url = new URL(`/${method}`, address.url);
  const deadline = performance.now() + (patient ? limits.pluginConnectMs : 0);
  for (let delayMs = 25; ; delayMs *= 2) {
    try {
      return await callHttp(url, {
        method: 'POST',
        headers: { Accept: CONTENT_TYPE, 'Content-Type': CONTENT_TYPE },
        ...(body && { body: Buffer.from(JSON.stringify(body)) }),
        ...(address.socketPath !== undefined && { socketPath: address.socketPath }),
        ...(address.tls && { tls: address.tls }),
        isDirect: true,
        timeoutMs,
        responseBytesMax: limits.pluginResponseBytesMax,
      });
    } catch (error) {
      const isDown = NOT_THERE.has(errnoOf(error) ?? '');
      if (!isDown || performance.now() + delayMs > deadline) {
        throw noAnswer({ plugin, method, timeoutMs, isDown }, error);
      }
    }
    await sleep(delayMs);
  }
}

function refused(message: string): EngineError {
  return internal(message, { details: { isRefusal: true } });
}

function noAnswer(
  {
    plugin,
    method,
    timeoutMs,
    isDown,
  }: Pick<PluginQuestion, 'plugin' | 'method' | 'timeoutMs'> & { isDown: boolean },
  error: unknown,
): EngineError {
  const isLate = error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
  const why = isLate ? `no answer within ${timeoutMs / 1000} s` : errorText(error);
  return new EngineError('unavailable', `${method}: volume plugin ${plugin}: ${why}`, {
    cause: error,
    details: { isDown },
  });
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    // A plugin without anything to say may answer `null` or nothing at all.
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    // A JSON object has string keys.
    return isObject ? (parsed as Record<string, unknown>) : parsed === null ? {} : undefined;
  } catch {
    // No JSON: the caller says so, with the status.
    return text.trim() === '' ? {} : undefined;
  }
}
