const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const COLON = 0x3a;

interface Level {
  /** Undefined = a list. */
  names: Set<string> | undefined;
  /** The field whose value this is in. */
  path: string;
  /** The field that was read last. */
  name: string;
}

/** Names that an object of a JSON text has more than once, with the way to them. The text is valid JSON. */
export function duplicateFields(json: Buffer): string[] {
  const found: string[] = [];
  const levels: Level[] = [];
  let level: Level | undefined;
  for (let index = 0; index < json.length; index += 1) {
    switch (json[index] ?? 0) {
      case OPEN_OBJECT:
      case OPEN_LIST: {
        const isObject = json[index] === OPEN_OBJECT;
        const path: string = level === undefined ? '' : joined(level.path, level.name);
        level = { names: isObject ? new Set() : undefined, path, name: '' };
        levels.push(level);
        break;
      }
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        levels.pop();
        level = levels.at(-1);
        break;
      case QUOTE: {
        const end = endOfString(json, index);
        if (level?.names !== undefined && isName(json, end)) {
          const name = String(JSON.parse(json.toString('utf8', index, end + 1)));
          if (level.names.has(name)) {
            found.push(joined(level.path, name));
          }
          level.names.add(name);
          level.name = name;
        }
        index = end;
        break;
      }
      default:
    }
  }
  return found;
}

function joined(path: string, name: string): string {
  return path === '' || name === '' ? path + name : `${path}.${name}`;
}

/** Index of the closing quote. */
function endOfString(json: Buffer, start: number): number {
  for (let index = start + 1; index < json.length; index += 1) {
    if (json[index] === BACKSLASH) {
      index += 1;
    } else if (json[index] === QUOTE) {
      return index;
    }
  }
  return json.length;
}

/** Whether a colon follows. */
function isName(json: Buffer, end: number): boolean {
  let index = end + 1;
  while (index < json.length && (json[index] ?? 0) <= 0x20) {
    index += 1;
  }
  return json[index] === COLON;
}
