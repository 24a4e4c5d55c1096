import { randomUUID } from 'node:crypto';
import type { Dialect } from '../versions/dialect.ts';

/** A body as it goes out, and how many bytes that is, in decimal. */
export interface WholeText {
  text: string;
  bytes: string;
}

const lines = new WeakMap<object, WeakMap<Dialect, WholeText>>();

/**
 * A body in the words of a dialect. That of a frozen body is kept for as long as the body lives: the engine freezes the
 * answers that it gives out unchanged until something happens, and inspect is asked far more often than that. To put a
 * container into JSON anew took as long as all else that its answer needs of us. `legacy` is not kept: see `Dialect`.
 */
export function jsonLineOf(body: unknown, legacy: unknown, dialect: Dialect): WholeText {
  if (typeof body !== 'object' || body === null || legacy !== undefined || !Object.isFrozen(body)) {
    return jsonLine(dialect.downgrade(body, legacy));
  }
  const known = lines.get(body)?.get(dialect);
  if (known !== undefined) {
    return known;
  }
  const line = jsonLine(dialect.downgrade(body));
  const ofBody = lines.get(body) ?? new WeakMap<Dialect, WholeText>();
  ofBody.set(dialect, line);
  lines.set(body, ofBody);
  return line;
}

/** JSON with the newline that dockerd sends. */
export function jsonLine(body: unknown): WholeText {
  const text = `${jsonOf(body)}\n`;
  return { text, bytes: String(Buffer.byteLength(text)) };
}

function jsonOf(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    if (!(error instanceof TypeError)) {
      throw error;
    }
    return withBigints(body);
  }
}

/** What a JSON number of JavaScript does not hold is a bigint, in few answers, and is spelled out. */
function withBigints(body: unknown): string {
  // No text of a client has it.
  const mark = randomUUID();
  const marked = JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'bigint' ? `${mark}${value}` : value,
  );
  return marked.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1');
}
