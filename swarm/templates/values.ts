/** A value as templates see it. A `Struct` has the fields that it has; a `Map` any keys. */
export type Value = string | number | boolean | null | readonly Value[] | Map<string, Value> | Struct;

export class Struct {
  readonly fields: ReadonlyMap<string, Value>;

  /** As Go would call its type in errors. */
  readonly type: string;

  constructor(type: string, fields: Readonly<Record<string, Value>>) {
    this.type = type;
    this.fields = new Map(Object.entries(fields));
  }
}

/** As Go's templates decide in `if`: the zero value of each type is false. */
export function isTrue(value: Value): boolean {
  if (value instanceof Map || Array.isArray(value)) {
    return lengthOf(value) !== 0;
  }
  return value instanceof Struct || Boolean(value);
}

/** Characters are counted in bytes, as in Go. Undefined for what has no length. */
export function lengthOf(value: Value): number | undefined {
  if (typeof value === 'string') {
    return Buffer.byteLength(value);
  }
  if (value instanceof Map) {
    return value.size;
  }
  return Array.isArray(value) ? value.length : undefined;
}

/** As Go prints it with `%v`. */
export function printed(value: Value): string {
  if (value === null) {
    return '<no value>';
  }
  if (value instanceof Struct) {
    return `{${[...value.fields.values()].map(printed).join(' ')}}`;
  }
  if (value instanceof Map) {
    return `map[${entriesOf(value)
      .map(([key, each]) => `${key}:${printed(each)}`)
      .join(' ')}]`;
  }
  return typeof value === 'object' ? `[${value.map(printed).join(' ')}]` : String(value);
}

/** In the order of their keys, as Go walks maps in templates. */
export function entriesOf(map: ReadonlyMap<string, Value>): [string, Value][] {
  return [...map].toSorted(([one], [other]) => (one < other ? -1 : 1));
}
