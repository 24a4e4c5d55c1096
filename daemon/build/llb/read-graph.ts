import { createHash } from 'node:crypto';
import type { BuildDefinition } from '../../../api/types/build/definition.ts';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Vertex } from '../graph/op.ts';
import { refuseCapabilities } from './capabilities.ts';
import { execVertex } from './exec.ts';
import { filesVertex } from './files.ts';
import { inputAt, type Inputs } from './inputs.ts';
import type { GraphOwner } from './owner.ts';
import { operation, type OperationMessage } from './messages.ts';
import { sourceOf } from './source.ts';

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
  const known = new Map<string, Vertex | undefined>();
  for (const [position, bytes] of operations.entries()) {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const message = decoded(bytes, digest);
    const inputs = message.inputs.map(({ digest: name, index }) => {
      if (!known.has(name)) {
        throw invalidArgument(`operation ${digest}: input ${name} is no operation before it`);
      }
      if (index !== 0) {
        throw notImplemented(
          `operation ${digest}: result ${index} of ${name}: results of mounts are not supported`,
        );
      }
      return known.get(name);
    });
    if (position === operations.length - 1) {
      return ending(message, inputs, digest);
    }
    const vertex = vertexOf(message, inputs, owner);
    known.set(digest, vertex && noted(vertex, definition, digest));
  }
  return undefined;
}

function decoded(bytes: Buffer, digest: string): OperationMessage {
  try {
    return operation.decode(bytes);
  } catch (error) {
    throw invalidArgument(`operation ${digest}: ${String(error)}`, { cause: error });
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

function vertexOf(message: OperationMessage, inputs: Inputs, owner: GraphOwner): Vertex | undefined {
  const { exec, source, file, merge } = message;
  if (source !== undefined) {
    const { os, architecture, variant } = message.platform ?? { os: '', architecture: '', variant: '' };
    const platform = [os, architecture, variant].filter((part) => part !== '').join('/');
    return {
      op: sourceOf(source, { ...owner, platform: platform || owner.platform }),
      inputs: [],
      name: source.identifier,
    };
  }
  if (file !== undefined) {
    return filesVertex(file, inputs);
  }
  if (exec !== undefined) {
    return execVertex(exec, inputs, owner);
  }
  if (merge !== undefined) {
    return merge.inputs.map(({ input }) => inputAt(inputs, input)).reduce(stacked, undefined);
  }
  const kind = message.build === undefined ? (message.diff === undefined ? 'unknown' : 'diff') : 'build';
  throw notImplemented(`operations of kind ${kind} are not supported in graphs (LLB)`);
}

function stacked(below: Vertex | undefined, above: Vertex | undefined): Vertex | undefined {
  if (below === undefined || above === undefined) {
    return below ?? above;
  }
  return { op: { kind: 'merge' }, inputs: [below, above], name: 'merge' };
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
