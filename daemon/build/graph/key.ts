import { createHash } from 'node:crypto';
import type { CopyFiles, Op, Vertex } from './op.ts';

/**
 * The definition keys of the vertices of a graph: `sha256:` and 64 digits. Equal keys mean the same operation on the
 * same inputs, in any graph and any daemon; names, lines, `isFresh`, `quietEnv` and the order of variables do not
 * count. Each vertex is read once, however many others have it as an input.
 */
export class DefinitionKeys {
  readonly #known = new WeakMap<Vertex, string>();

  of(vertex: Vertex): string {
    // By a list instead of calls within calls: a Dockerfile may have thousands of steps, one on the other.
    const open: Vertex[] = [vertex];
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const missing = top.inputs.filter((input) => input !== undefined && !this.#known.has(input));
      if (missing.length === 0) {
        open.pop();
        this.#known.set(top, this.#digest(top));
      }
      open.push(...missing.flatMap((input) => input ?? []));
    }
    return this.#known.get(vertex) ?? '';
  }

  #digest({ op, inputs }: Vertex): string {
    return operationKey(
      op,
      inputs.map((input) => (input === undefined ? undefined : this.#known.get(input))),
    );
  }
}

/** The key of an operation on inputs known by these keys; undefined = an empty tree. Pure. */
export function operationKey(op: Op, inputs: readonly (string | undefined)[]): string {
  const text = canonical({ op: counted(op), inputs: inputs.map((key) => key ?? null) });
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** The operation without what changes no result. */
function counted(op: Op): object {
  if (op.kind === 'files') {
    return {
      ...op,
      actions: op.actions.map((action) => (action.action === 'copy' ? ofBothDoors(action) : action)),
    };
  }
  if (op.kind !== 'exec') {
    return op;
  }
  const { quietEnv: _, ...rest } = { ...op, env: op.env.toSorted() };
  return rest;
}

/**
 * Both doors take what the other has made, where neither would refuse it; but for archives with an owner, which each of
 * them unpacks in its own way. Whether it is one nobody knows yet.
 */
function ofBothDoors(copy: CopyFiles): object {
  const isOwn = copy.unpacks && copy.owner !== '';
  return { ...copy, isClassic: isOwn ? copy.isClassic === true : undefined };
}

/** JSON whose properties stand in the order of their names; those that are undefined are not there. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(',')}]`;
  }
  if (typeof value !== 'object' || value === null) {
    return JSON.stringify(value);
  }
  const properties = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`);
  return `{${properties.join(',')}}`;
}
