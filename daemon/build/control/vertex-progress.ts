import type { SourcePlace } from '../../base/build-error.ts';
import type { Vertex } from '../graph/op.ts';
import { inOrder } from '../graph/unify.ts';
import { RESULT_SCHEME } from '../llb/result-definition.ts';
import type { LogStream, SolveProgress, VertexWork } from '../solver/ports.ts';
import type { Vertex as ShownVertex, Vertices } from './vertices.ts';

/** Tells the clients of a build what its solver does. */
export class VertexProgress implements SolveProgress {
  readonly #shown = new Map<Vertex, ShownVertex>();
  readonly #vertices: Vertices;
  #failed: Vertex | undefined;

  /** Announces all of the graph, inputs before what needs them. */
  constructor(vertices: Vertices, targets: readonly (Vertex | undefined)[]) {
    this.#vertices = vertices;
    for (const vertex of inOrder(targets)) {
      if (!isResult(vertex)) {
        this.#of(vertex);
      }
    }
  }

  /** The first that failed: where in the Dockerfile it is, and what clients call it. */
  failure(filename: string, data: string): { source: SourcePlace | undefined; vertex: string | undefined } {
    const lines = this.#failed?.lines;
    return {
      source: lines && { filename, data, line: lines.from, endLine: lines.to },
      vertex: this.#failed && this.#of(this.#failed).digest,
    };
  }

  started(vertex: Vertex): void {
    if (isShown(vertex)) {
      this.#of(vertex).start();
    }
  }

  cached(vertex: Vertex): void {
    if (isShown(vertex)) {
      this.#of(vertex).cached();
    }
  }

  completed(vertex: Vertex, error?: string): void {
    if (error === undefined) {
      if (isShown(vertex)) {
        this.#of(vertex).done();
      }
    } else {
      this.#failed ??= vertex;
      this.#of(vertex).fail(error);
    }
  }

  log(vertex: Vertex, stream: LogStream, bytes: Uint8Array): void {
    this.#of(vertex).output(stream, Buffer.from(bytes));
  }

  work(vertex: Vertex, { name, current, total, isDone }: VertexWork): void {
    this.#of(vertex).progress(name, { current, ...(total !== undefined && { total }), isLast: isDone });
  }

  #of(vertex: Vertex): ShownVertex {
    const known = this.#shown.get(vertex);
    if (known !== undefined) {
      return known;
    }
    const [first] = vertex.inputs;
    if (isPart(vertex) && first !== undefined) {
      return this.#of(first);
    }
    const inputs = vertex.inputs.flatMap((input) =>
      input === undefined || isResult(input) ? [] : [this.#of(input).digest],
    );
    const shown = this.#vertices.begin(vertex.name, inputs);
    this.#shown.set(vertex, shown);
    return shown;
  }
}

/** Clients see the command alone. */
function isPart({ op }: Vertex): boolean {
  return op.kind === 'result';
}

/** What a client hands back of a build: its steps were told by that build. One that is gone is told when it fails. */
function isResult({ op, name }: Vertex): boolean {
  return op.kind === 'held' && name.startsWith(`${RESULT_SCHEME}://`);
}

function isShown(vertex: Vertex): boolean {
  return !isPart(vertex) && !isResult(vertex);
}

/** What a result stands on, from the base on: the trees at position 0. Pure. */
export function chainOf(target: Vertex | undefined): Vertex[] {
  const chain: Vertex[] = [];
  for (let next = target; next !== undefined; next = below(next)) {
    chain.unshift(next);
  }
  return chain;
}

/** A result of a command stands on what was mounted. */
function below({ op, inputs: [first] }: Vertex): Vertex | undefined {
  if (op.kind !== 'result' || first?.op.kind !== 'exec') {
    return op.kind === 'diff' ? undefined : first;
  }
  const mount = first.op.mounts.find((one) => one.type === 'bind' && one.result === op.number);
  return mount?.type === 'bind' ? first.inputs[mount.from] : undefined;
}
