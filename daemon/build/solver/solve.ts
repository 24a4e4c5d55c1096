import { randomUUID } from 'node:crypto';
import { EngineError, errorText } from '../../base/errors.ts';
import type { Vertex } from '../graph/op.ts';
import type { FlightPlan, Landed, Passenger } from './flight.ts';
import { release, type HeldTree, type RunContext, type SolverDeps, type SolveRequest } from './ports.ts';
import { ReadAhead } from './read-ahead.ts';
import { isSource, positionsRead, resultsOf } from './reads.ts';
import { Telling } from './telling.ts';

interface SolveDeps<T extends HeldTree> extends Pick<SolverDeps<T>, 'keys' | 'cache'> {
  fly(plan: FlightPlan<T>, passenger: Passenger, signal: AbortSignal): Promise<Landed<T>>;
  track(task: Promise<unknown>): void;
}

/** What a vertex is known by. */
interface Known {
  key: string;
  /** It is to be made anew, or stands on something that is. */
  isFresh: boolean;
  /** Another build may come to the same key. */
  isLasting: boolean;
  /** Of an operation: what the key is made of. Undefined where that was not looked at. */
  inputs?: readonly (string | undefined)[];
}

interface KnownOperation extends Known {
  /** Undefined where no other build means the same by it. */
  definitionKey: string | undefined;
}

/** One build's way through its graph. Every vertex gets its key once, and its result once if somebody needs it. */
export class Solve<T extends HeldTree> {
  readonly #deps: SolveDeps<T>;
  readonly #request: SolveRequest<T>;
  readonly #id = randomUUID();
  readonly #controller = new AbortController();
  readonly #telling: Telling;
  readonly #keys = new Map<Vertex, Promise<Known>>();
  readonly #results = new Map<Vertex, Promise<T>>();
  /** Keys by contents, by the positions of the inputs that are read. */
  readonly #contents = new Map<Vertex, Map<number, Promise<string | undefined>>>();
  readonly #ahead = new ReadAhead((vertex) => this.#begin(vertex));
  /** Given back at the end. */
  readonly #held: T[] = [];

  constructor(deps: SolveDeps<T>, request: SolveRequest<T>) {
    this.#deps = deps;
    this.#request = request;
    this.#telling = new Telling(request.progress);
  }

  async run(targets: readonly (Vertex | undefined)[]): Promise<(T | undefined)[]> {
    const { signal } = this.#request;
    const leave = (): void => this.#controller.abort(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      signal.throwIfAborted();
      const trees = await this.#resultsOf(targets);
      signal.throwIfAborted();
      // What was begun and is not needed after all is left.
      this.#controller.abort(new EngineError('canceled', 'the build is over'));
      return trees.map((tree) => tree?.hold());
    } catch (error) {
      this.#controller.abort(error);
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
      await this.#settled();
      this.#telling.end();
      release(this.#held);
    }
  }

  async #resultsOf(vertices: readonly (Vertex | undefined)[]): Promise<(T | undefined)[]> {
    return await Promise.all(
      vertices.map(async (vertex) => (vertex === undefined ? undefined : await this.#result(vertex))),
    );
  }

  /** One that fails early leaves others behind, which may come to more. */
  async #settled(): Promise<void> {
    const asked = (): number => this.#keys.size + this.#results.size;
    let before = -1;
    while (before < asked()) {
      before = asked();
      await Promise.allSettled([...this.#keys.values(), ...this.#results.values()]);
    }
  }

  #key(vertex: Vertex): Promise<Known> {
    return remembered(this.#keys, vertex, async () => {
      if (isSource(vertex.op)) {
        return await this.#keyOfSource(vertex);
      }
      const known = this.#told(vertex, await this.#keyOfOperation(vertex));
      this.#ahead.known(vertex);
      return known;
    });
  }

  /** In a turn of its own: it may be wanted by one that is being asked for. */
  #begin(vertex: Vertex): void {
    queueMicrotask(() => {
      if (!this.#controller.signal.aborted) {
        // What fails has ended the build by then, and is told as the step that failed.
        this.#result(vertex).catch(() => undefined);
      }
    });
  }

  #result(vertex: Vertex): Promise<T> {
    return remembered(this.#results, vertex, async () => {
      const tree = await this.#makeResult(vertex);
      this.#held.push(tree);
      return tree;
    });
  }

  async #keyOfSource(vertex: Vertex): Promise<Known> {
    const { keys } = this.#deps;
    return await this.#own(vertex, async () => {
      this.#telling.started(vertex);
      const known = await this.#unlessAborted(keys.ofSource(vertex, this.#context(vertex)));
      this.#telling.completed(vertex);
      return { ...known, isFresh: vertex.isFresh === true };
    });
  }

  #told(vertex: Vertex, { definitionKey, ...known }: KnownOperation): Known {
    const { key, isLasting } = known;
    this.#request.keyed?.(vertex, { key, definitionKey, isLasting });
    return known;
  }

  /**
   * By what its inputs are known by; where it only reads files of one, by these. They need not be read again where the
   * inputs are known by the same keys as once before.
   */
  async #keyOfOperation(vertex: Vertex): Promise<KnownOperation> {
    const { keys, cache } = this.#deps;
    const { imports } = this.#request;
    this.#ahead.asks(vertex);
    const inputs = await Promise.all(
      vertex.inputs.map(async (input) => (input === undefined ? undefined : await this.#key(input))),
    );
    const read = positionsRead(vertex.op).filter((position) => inputs[position] !== undefined);
    const below = inputs.filter((known, position) => known !== undefined && !read.includes(position));
    const facts = {
      isFresh: vertex.isFresh === true || below.some((known) => known?.isFresh),
      isLasting: below.every((known) => known?.isLasting),
    };
    const definitionKey = keys.ofOperation(
      vertex,
      inputs.map((known) => known?.key),
    );
    if (read.length === 0) {
      return { key: definitionKey, definitionKey, inputs: inputs.map((known) => known?.key), ...facts };
    }
    // What is made anew may have other contents under its old key.
    const isFreshInput = inputs.some((known) => known?.isFresh === true);
    const before = isFreshInput
      ? undefined
      : (cache.findContentKey(definitionKey) ?? imports?.findContentKey(definitionKey));
    if (before !== undefined) {
      return { key: before, definitionKey, ...facts };
    }
    const known = inputs.map((input) => input?.key);
    await Promise.all(
      read.map(async (position) => {
        known[position] = await this.#contentKey(vertex, position);
      }),
    );
    const key = keys.ofOperation(vertex, known);
    const isLasting = inputs.every((input) => input?.isLasting !== false);
    if (isLasting) {
      cache.storeContentKey(definitionKey, key);
    }
    return { key, definitionKey: isLasting ? definitionKey : undefined, inputs: known, ...facts };
  }

  /** Its key still waits for others, and will be made of these files. */
  #beginReading(reader: Vertex, made: Vertex): void {
    for (const position of positionsRead(reader.op)) {
      if (reader.inputs[position] === made) {
        // As of what is begun ahead: it is told as the step that failed.
        this.#contentKey(reader, position).catch(() => undefined);
      }
    }
  }

  #contentKey(vertex: Vertex, position: number): Promise<string | undefined> {
    const known = this.#contents.get(vertex) ?? new Map<number, Promise<string | undefined>>();
    this.#contents.set(vertex, known);
    return remembered(known, position, () => this.#readContent(vertex, position));
  }

  async #readContent(vertex: Vertex, position: number): Promise<string | undefined> {
    const input = vertex.inputs[position];
    if (input === undefined) {
      return undefined;
    }
    this.#ahead.reads(vertex, input);
    const tree = await this.#result(input);
    return await this.#own(vertex, async () => await this.#unlessAborted(this.#read(vertex, position, tree)));
  }

  /** Holds the tree for itself: the build may be over before it. */
  async #read(vertex: Vertex, position: number, tree: T): Promise<string> {
    using held = tree.hold();
    return await this.#deps.keys.ofContent(vertex, position, held, this.#controller.signal);
  }

  async #makeResult(vertex: Vertex): Promise<T> {
    const known = await this.#key(vertex);
    const { key, isFresh } = known;
    const found = isFresh ? undefined : await this.#own(vertex, async () => await this.#found(vertex, key));
    if (found !== undefined) {
      this.#tellCached(vertex);
      return found;
    }
    // Files of a client are only read: what they lead to may be there.
    if (known.isLasting || !isSource(vertex.op)) {
      this.#ahead.makes(vertex);
    }
    const tree = await this.#make(vertex, known);
    this.#ahead.made(vertex).forEach((reader) => this.#beginReading(reader, vertex));
    return tree;
  }

  async #make(vertex: Vertex, { key, isFresh, inputs: known }: Known): Promise<T> {
    const inputs = await this.#resultsOf(vertex.inputs);
    const same = known && this.#deps.keys.ofResults(vertex, known, inputs);
    return await this.#own(vertex, async () => {
      const { tree, isCached } = await this.#deps.fly(
        {
          key,
          sameKey: same === key ? undefined : same,
          // What is made anew, or in a client's container, is made for this build alone.
          flight: isFresh || vertex.container !== undefined ? `${this.#id} ${key}` : key,
          vertex,
          takesCached: !isFresh,
          inputs: inputs.map((input) => input?.hold()),
        },
        this.#passenger(vertex),
        this.#controller.signal,
      );
      if (isCached) {
        this.#telling.cached(vertex);
      } else {
        this.#telling.completed(vertex);
      }
      return tree;
    });
  }

  async #found(vertex: Vertex, key: string): Promise<T | undefined> {
    const { cache, keys } = this.#deps;
    const { imports } = this.#request;
    const here = await cache.find(key, vertex);
    if (here !== undefined || imports === undefined) {
      return here;
    }
    const brought = await imports.find(key, vertex, this.#context(vertex));
    const results = resultsOf(vertex.op);
    if (brought === undefined || results.length === 0) {
      return brought;
    }
    // With what it has beside it, or not at all.
    using _brought = brought;
    for (const number of results) {
      const result: Vertex = { op: { kind: 'result', number }, inputs: [vertex], name: vertex.name };
      const resultKey = keys.ofOperation(result, [key]);
      using _result = await imports.find(resultKey, result, this.#context(vertex));
    }
    return await cache.find(key, vertex);
  }

  /** With what it stands on and nobody wanted. */
  #tellCached(vertex: Vertex): void {
    for (const input of vertex.inputs) {
      if (input !== undefined && !this.#results.has(input) && !this.#telling.wasCached(input)) {
        this.#tellCached(input);
      }
    }
    this.#telling.cached(vertex);
  }

  /** A step. Where it fails all of the build ends, and the vertex is told as the one that failed. */
  async #own<R>(vertex: Vertex, step: () => Promise<R>): Promise<R> {
    try {
      return await step();
    } catch (error) {
      if (!this.#controller.signal.aborted) {
        this.#telling.failed(vertex, this.#request.describe?.(error) ?? errorText(error));
        this.#controller.abort(error);
      }
      throw error;
    }
  }

  /** Nobody waits for it once the build is over. */
  async #unlessAborted<R>(task: Promise<R>): Promise<R> {
    const { signal } = this.#controller;
    this.#deps.track(task);
    return await new Promise((resolve, reject) => {
      const leave = (): void => reject(signal.reason);
      if (signal.aborted) {
        leave();
      }
      signal.addEventListener('abort', leave, { once: true });
      task.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
  }

  #passenger(vertex: Vertex): Passenger {
    const { session, failed } = this.#request;
    return {
      session,
      ...(failed && { failed }),
      started: () => this.#telling.started(vertex),
      log: (stream, bytes) => this.#telling.log(vertex, stream, bytes),
      work: (work) => this.#telling.work(vertex, work),
      used: (source) => this.#request.used?.(source),
    };
  }

  #context(vertex: Vertex): RunContext {
    const passenger = this.#passenger(vertex);
    return {
      signal: this.#controller.signal,
      sessions: () => [passenger.session],
      log: (stream, bytes) => passenger.log(stream, bytes),
      work: (work) => passenger.work(work),
      used: (source) => passenger.used(source),
    };
  }
}

function remembered<K, R>(known: Map<K, Promise<R>>, key: K, make: () => Promise<R>): Promise<R> {
  const before = known.get(key);
  if (before !== undefined) {
    return before;
  }
  const made = make();
  known.set(key, made);
  return made;
}
