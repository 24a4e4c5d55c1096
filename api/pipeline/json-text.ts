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
  const text = `${JSON.stringify(body)}\n`;
  return { text, bytes: String(Buffer.byteLength(text)) };
}
