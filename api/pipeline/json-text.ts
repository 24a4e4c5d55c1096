const texts = new WeakMap<object, string>();

/**
 * A body as JSON. The text of a frozen body is kept for as long as the body lives: the engine freezes the answers that
 * it gives out unchanged until something happens, and inspect is asked far more often than that.
 */
export function jsonText(body: unknown): string {
  if (typeof body !== 'object' || body === null || !Object.isFrozen(body)) {
    return JSON.stringify(body);
  }
  const known = texts.get(body);
  if (known !== undefined) {
    return known;
  }
  const text = JSON.stringify(body);
  texts.set(body, text);
  return text;
}
