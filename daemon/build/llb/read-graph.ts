import { createHash } from 'node:crypto';
import type { BuildDefinition } from '../../../api/types/build/definition.ts';
import { errorText, invalidArgument, isEngineError, notImplemented } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Vertex } from '../graph/op.ts';
import { refuseCapabilities } from './capabilities.ts';
import { readCommand } from './exec.ts';
import { filesVertices } from './files.ts';
import { inputAt, type Inputs } from './inputs.ts';
import type { GraphOwner } from './owner.ts';
import { operation, type ExecMessage, type OperationMessage, type SourceMessage } from './messages.ts';
import { sourceOf } from './source.ts';
import { evaluated } from '../policy/evaluate.ts';

/** Of one operation, by their numbers; undefined = an empty tree. */
type Results = ReadonlyMap<number, Vertex | undefined>;

/** Which operation is read, of which graph. */
interface Reading {
  definition: BuildDefinition;
  digest: string;
  owner: GraphOwner;
  /** Differences with what they delete, by those without. */
  deleting: Map<Vertex, Vertex>;
}

/**
 * The vertex that a client's graph ends in; undefined = an empty tree. Pure. Throws invalid_argument for what is no
 * graph, not_implemented by name for what is not supported.
 */
export function readGraph(definition: BuildDefinition, owner: GraphOwner): Vertex | undefined {
  const { operations } = definition;
  if (operations.length === 0) {
    return undefined;
  }
  if (operations.length > limits.llbOperationsMax) {
    throw invalidArgument(`a graph of more than ${limits.llbOperationsMax} operations`);
  }
  refuseCapabilities(definition);
  /** Of each operation, its results by their numbers. */
  const known = new Map<string, Results>();
  const deleting = new Map<Vertex, Vertex>();
  for (const [position, bytes] of operations.entries()) {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const message = decoded(bytes, digest);
    const inputs = message.inputs.map(({ digest: name, index }) => {
      const results = known.get(name);
      if (results === undefined) {
        throw invalidArgument(`operation ${digest}: input ${name} is no operation before it`);
      }
      if (!results.has(index)) {
        throw invalidArgument(`operation ${digest}: input ${name} has no result ${index}`);
      }
      return results.get(index);
    });
    if (position === operations.length - 1) {
      return ending(message, inputs, digest);
    }
    if (!known.has(digest)) {
      known.set(
        digest,
        telling(digest, () => resultsOf(message, inputs, { definition, digest, owner, deleting })),
      );
    }
  }
  return undefined;
}

function decoded(bytes: Buffer, digest: string): OperationMessage {
  try {
    return operation.decode(bytes);
  } catch (error) {
    throw invalidArgument(`operation ${digest}: ${errorText(error)}`, { cause: error });
  }
}

/** The last operation has one input and does nothing. */
function ending(message: OperationMessage, inputs: Inputs, digest: string): Vertex | undefined {
  const { exec, source, file, build, merge, diff } = message;
  if (inputs.length !== 1 || [exec, source, file, build, merge, diff].some((kind) => kind !== undefined)) {
    throw invalidArgument(`operation ${digest}: the last of a graph must have one input and do nothing`);
  }
  return inputs[0];
}

/** Errors tell which operation of a graph is meant. */
function telling<T>(digest: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      throw invalidArgument(`operation ${digest}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}

function resultsOf(message: OperationMessage, inputs: Inputs, read: Reading): Results {
  const { exec, source, file, merge, diff, build } = message;
  const kinds = [exec, source, file, merge, diff, build].filter((kind) => kind !== undefined);
  if (kinds.length > 1) {
    throw invalidArgument('it is of more than one kind');
  }
  const note = (vertex: Vertex): Vertex => noted(vertex, read.definition, read.digest);
  if (source !== undefined) {
    return new Map([[0, note(sourceVertex(source, message.platform, read.owner))]]);
  }
  if (file !== undefined) {
    return new Map([...filesVertices(file, inputs)].map(([output, vertex]) => [output, note(vertex)]));
  }
  if (exec !== undefined) {
    return commandResults(exec, inputs, { ...read, note });
  }
  if (merge !== undefined) {
    const merged = merge.inputs
      .map(({ input }) => inputAt(inputs, input))
      .reduce((below, above) => stacked(below, above, read), undefined);
    return new Map([[0, merged?.op.kind === 'merge' ? note(merged) : merged]]);
  }
  if (diff !== undefined) {
    const { lower, upper } = diff;
    const sides = [inputAt(inputs, lower?.input ?? -1), inputAt(inputs, upper?.input ?? -1)] as const;
    return new Map([[0, different(sides, { ...read, note })]]);
  }
  throw notImplemented(
    `operations of kind ${build === undefined ? 'unknown' : 'build'} are not supported in graphs (LLB)`,
  );
}

function sourceVertex(
  sent: SourceMessage,
  platform: OperationMessage['platform'],
  owner: GraphOwner,
): Vertex {
  const { os, architecture, variant } = platform ?? { os: '', architecture: '', variant: '' };
  const named = [os, architecture, variant].filter((part) => part !== '').join('/');
  const whole = named || owner.platform;
  const source = evaluated({ ...sent, platform: whole }, owner.convert);
  return {
    op: sourceOf(source, { ...owner, platform: whole }),
    inputs: [],
    name: source.identifier,
  };
}

/** What is mounted and used by others has a vertex of its own, which stands on the command's. */
function commandResults(
  exec: ExecMessage,
  inputs: Inputs,
  { owner, note }: Reading & { note: (vertex: Vertex) => Vertex },
): Results {
  const { vertex, results } = readCommand(exec, inputs, owner);
  const command = note(vertex);
  return new Map(
    [...results].map(([output, mount]) => [
      output,
      mount === 'root'
        ? command
        : {
            op: { kind: 'result', number: mount },
            inputs: [command],
            name: command.name,
            // Its record is made with the command's.
            isUnrecorded: true,
          },
    ]),
  );
}

/** Of equal sides, or of an empty one, nothing need be looked at. */
function different(
  [lower, upper]: readonly [Vertex | undefined, Vertex | undefined],
  { note, deleting }: Reading & { note: (vertex: Vertex) => Vertex },
): Vertex | undefined {
  if (lower === undefined || lower === upper) {
    return lower === undefined ? upper : undefined;
  }
  const diff = (hasDeletions: boolean): Vertex =>
    note({ op: { kind: 'diff', hasDeletions }, inputs: [lower, upper], name: 'diff' });
  const shown = diff(false);
  deleting.set(shown, diff(true));
  return shown;
}

/** Of a difference what it deletes counts where it stands on something. */
function stacked(
  below: Vertex | undefined,
  above: Vertex | undefined,
  { deleting }: Reading,
): Vertex | undefined {
  if (below === undefined || above === undefined) {
    return below ?? above;
  }
  return { op: { kind: 'merge' }, inputs: [below, deleting.get(above) ?? above], name: 'merge' };
}

function noted(vertex: Vertex, { notes, places }: BuildDefinition, digest: string): Vertex {
  const { isFresh, description } = notes.get(digest) ?? {
    isFresh: false,
    description: new Map<string, string>(),
  };
  // A graph has places in several files; the first is that of the Dockerfile.
  const place = places.get(digest)?.find(({ file }) => file === 0);
  return {
    ...vertex,
    name: description.get('llb.customname') ?? vertex.name,
    ...(isFresh && { isFresh }),
    ...(place && { lines: { from: place.from, to: place.to } }),
  };
}
