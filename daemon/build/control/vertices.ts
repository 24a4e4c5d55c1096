import { createHash } from 'node:crypto';
import type { BuildVertex, BuildWarning } from '../../../api/types/build/status.ts';
import { EngineError } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { StatusLog } from './status-log.ts';

const CLIPPED = Buffer.from('\n[output clipped: the step printed more than is kept]\n');
/** About what a warning takes beside its texts. */
const WARNING_BYTES = 256;
const RANGE_BYTES = 32;
/** Least time between two tellings of the same progress. */
const PROGRESS_MS = 100;

/** The steps of one build as clients see them. */
export class Vertices {
  readonly log = new StatusLog();
  readonly clock: Clock;
  readonly #open = new Set<Vertex>();
  #count = 0;
  #warnedBytes = 0;
  /** Of output, over all steps. */
  loggedBytes = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** A step that is to come: it counts, and is shown once it has started. */
  begin(name: string, inputs: readonly string[] = []): Vertex {
    this.#count += 1;
    const digest = `sha256:${createHash('sha256').update(`${this.#count} ${name}`).digest('hex')}`;
    const vertex = new Vertex(this, { digest, name, inputs, cached: false, error: '' }, () =>
      this.#open.delete(vertex),
    );
    this.#open.add(vertex);
    return vertex;
  }

  /** What a step does, from its beginning to its end. Throws what it throws. */
  async run<T>(name: string, work: (vertex: Vertex) => Promise<T>): Promise<T> {
    const vertex = this.begin(name);
    vertex.start();
    try {
      const made = await work(vertex);
      vertex.done();
      return made;
    } catch (error) {
      vertex.fail(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  /** What a client warns of. Throws resource_exhausted for more than is kept. */
  warn(warning: BuildWarning): void {
    const { vertex, short, detail, url, source, lines } = warning;
    const texts = [vertex, short, detail, url, source.filename, source.data, source.language ?? ''];
    const bytes = texts.reduce((sum, { length }) => sum + length, WARNING_BYTES + lines.length * RANGE_BYTES);
    if (this.#warnedBytes + bytes > limits.warningsBytesMax) {
      throw new EngineError('resource_exhausted', `warnings of more than ${limits.warningsBytesMax} bytes`);
    }
    this.#warnedBytes += bytes;
    this.log.add({ warnings: [warning] });
  }

  /** Nothing more comes: what was under way was canceled, and of what had not started nothing is told. */
  end(): void {
    [...this.#open].filter(({ isStarted }) => isStarted).forEach((vertex) => vertex.fail('context canceled'));
    this.log.end();
  }
}

interface Going {
  started: bigint;
  toldMs: number;
}

export class Vertex {
  readonly #all: Vertices;
  #facts: BuildVertex;
  readonly #ended: () => void;
  readonly #going = new Map<string, Going>();
  #loggedBytes = 0;
  #isOver = false;

  constructor(all: Vertices, facts: BuildVertex, ended: () => void) {
    this.#all = all;
    this.#ended = ended;
    this.#facts = facts;
    all.log.add({ vertexes: [facts] });
  }

  get digest(): string {
    return this.#facts.digest;
  }

  get isStarted(): boolean {
    return this.#facts.started !== undefined;
  }

  start(): void {
    if (!this.isStarted && !this.#isOver) {
      this.#tell({ started: this.#all.clock.nowNano() });
    }
  }

  /** Progress within it. Without `isLast` not each is told. */
  progress(id: string, { current = 0, total = 0, isLast = false }): void {
    const at = this.#all.clock.nowNano();
    const nowMs = this.#all.clock.monotonicMs();
    const going = this.#going.get(id) ?? { started: at, toldMs: -PROGRESS_MS };
    this.#going.set(id, going);
    if (!isLast && nowMs - going.toldMs < PROGRESS_MS) {
      return;
    }
    going.toldMs = nowMs;
    const status = { id, vertex: this.digest, current, total, at, started: going.started };
    this.#all.log.add({ statuses: [isLast ? { ...status, completed: at } : status] });
  }

  output(stream: number, data: Buffer): void {
    const room = Math.min(
      limits.buildStepLogBytesMax - this.#loggedBytes,
      limits.buildLogBytesMax - this.#all.loggedBytes,
    );
    if (room <= 0) {
      return;
    }
    this.#loggedBytes += data.length;
    this.#all.loggedBytes += data.length;
    const kept = data.length <= room ? data : Buffer.concat([data.subarray(0, room), CLIPPED]);
    const at = this.#all.clock.nowNano();
    this.#all.log.add({ logs: [{ vertex: this.digest, at, stream, data: Buffer.from(kept) }] });
  }

  /** It was done in an earlier build. */
  cached(): void {
    const now = this.#all.clock.nowNano();
    this.#tell({ cached: true, started: now, completed: now });
    this.#over();
  }

  done(): void {
    this.#end({});
  }

  fail(error: string): void {
    this.#end({ error });
  }

  #end(change: Partial<BuildVertex>): void {
    if (!this.#isOver) {
      this.start();
      this.#tell({ ...change, completed: this.#all.clock.nowNano() });
      this.#over();
    }
  }

  #over(): void {
    this.#isOver = true;
    this.#ended();
  }

  #tell(change: Partial<BuildVertex>): void {
    this.#facts = { ...this.#facts, ...change };
    this.#all.log.add({ vertexes: [this.#facts] });
  }
}
