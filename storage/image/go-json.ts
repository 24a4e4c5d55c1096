/**
 * JSON as Go's encoding/json writes it: compact, with `<`, `>`, `&` and the two Unicode line separators escaped. Where
 * a digest is taken of JSON that we write, other engines must come to the same bytes.
 */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
