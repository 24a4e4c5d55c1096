/**
 * The first name that occurs twice in one object of a JSON text: readers differ in which of its values they take. The
 * text must be valid. Undefined = there is none. Throws RangeError where it is nested deeper than `depthMax`. Pure.
 */
export function repeatedName(text: string, depthMax: number): string | undefined {
  /** Of each object or list that is open, the names so far. */
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charAt(at)) {
      case '{':
      case '[':
        open.push(new Set());
        if (open.length > depthMax) {
          throw new RangeError(`nested deeper than ${depthMax} levels`);
        }
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case '"': {
        const end = endOf(text, at);
        const name = isName(text, end) ? String(JSON.parse(text.slice(at, end))) : undefined;
        const names = open.at(-1);
        if (name !== undefined && names?.has(name) === true) {
          return name;
        }
        if (name !== undefined) {
          names?.add(name);
        }
        at = end - 1;
        break;
      }
      default:
    }
  }
  return undefined;
}

/** Behind the quote that closes the string which opens at `start`. */
function endOf(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') {
    at += text[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}

/** Whether the string that ends there is a name: a colon follows it. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') {
    at += 1;
  }
  return text[at] === ':';
}
