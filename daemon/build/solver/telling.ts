import type { Vertex } from '../graph/op.ts';
import type { LogStream, SolveProgress, VertexWork } from './ports.ts';

/** As BuildKit's clients know a step that was cut off. */
const CANCELED = 'context canceled';

/** Tells a build of its vertices so that each that started ends, and nothing comes after the build's end. */
export class Telling {
  readonly #progress: SolveProgress;
  readonly #open = new Set<Vertex>();
  readonly #cached = new Set<Vertex>();
  #isOver = false;

  constructor(progress: SolveProgress) {
    this.#progress = progress;
  }

  started(vertex: Vertex): void {
    if (!this.#isOver && !this.#open.has(vertex)) {
      this.#open.add(vertex);
      this.#progress.started(vertex);
    }
  }

  completed(vertex: Vertex, error?: string): void {
    if (!this.#isOver && this.#open.delete(vertex)) {
      this.#progress.completed(vertex, error);
    }
  }

  /** It may not have started at all. */
  failed(vertex: Vertex, error: string): void {
    this.started(vertex);
    this.completed(vertex, error);
  }

  cached(vertex: Vertex): void {
    this.completed(vertex);
    if (!this.#isOver) {
      this.#cached.add(vertex);
      this.#progress.cached(vertex);
    }
  }

  wasCached(vertex: Vertex): boolean {
    return this.#cached.has(vertex);
  }

  log(vertex: Vertex, stream: LogStream, bytes: Uint8Array): void {
    if (!this.#isOver) {
      this.#progress.log(vertex, stream, bytes);
    }
  }

  work(vertex: Vertex, work: VertexWork): void {
    if (!this.#isOver) {
      this.#progress.work(vertex, work);
    }
  }

  end(): void {
    for (const vertex of this.#open) {
      this.completed(vertex, CANCELED);
    }
    this.#isOver = true;
  }
}
