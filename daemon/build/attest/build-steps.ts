import { inOrder } from '../graph/unify.ts';
import type { Vertex } from '../graph/op.ts';
import { DefinitionKeys } from '../graph/key.ts';
import { shownOp, type ShownInputs } from './shown-op.ts';

/** One operation of a build, as provenance names it. */
export interface BuildStep {
  /** `step0` */
  id: string;
  op: Readonly<Record<string, unknown>>;
  /** `step0:0`: a result of another one; the number is that of its result. */
  inputs?: readonly string[];
}

export interface BuildSteps {
  steps: readonly BuildStep[];
  /** By `sha256:...` of operation and inputs. */
  digests: Readonly<Record<string, string>>;
  /** Lines of the file that the build is made of, from 1, by id. */
  lines: ReadonlyMap<string, { from: number; to: number }>;
  secrets: readonly Asked[];
  agents: readonly Asked[];
}

/** What commands are given of the client. */
interface Asked {
  id: string;
  isOptional: boolean;
}

/** What was done for a result, inputs first, and in the end the result itself. Pure. */
export function buildSteps(target: Vertex | undefined): BuildSteps {
  const keys = new DefinitionKeys();
  const ids = new Map<Vertex, string>();
  const steps: BuildStep[] = [];
  const digests: Record<string, string> = {};
  const lines = new Map<string, { from: number; to: number }>();
  for (const vertex of inOrder([target])) {
    const op = shownOp(vertex.op, countedInputs(vertex));
    if (op !== undefined) {
      const id = `step${steps.length}`;
      ids.set(vertex, id);
      digests[keys.of(vertex)] = id;
      const inputs = vertex.inputs.flatMap((input) => resultOf(input, ids) ?? []);
      steps.push({ id, op, ...(inputs.length > 0 && { inputs }) });
      if (vertex.lines !== undefined) {
        lines.set(id, vertex.lines);
      }
    }
  }
  const end = resultOf(target, ids);
  if (end !== undefined) {
    steps.push({ id: `step${steps.length}`, op: { Op: {} }, inputs: [end] });
  }
  const all = [...ids.keys()];
  return { steps, digests, lines, secrets: askedBy(all, 'secret'), agents: askedBy(all, 'ssh') };
}

/** Undefined: an empty tree. */
function resultOf(vertex: Vertex | undefined, ids: ReadonlyMap<Vertex, string>): string | undefined {
  if (vertex === undefined) {
    return undefined;
  }
  const [command] = vertex.inputs;
  return vertex.op.kind === 'result' && command !== undefined
    ? `${ids.get(command)}:${vertex.op.number}`
    : `${ids.get(vertex)}:0`;
}

function countedInputs({ inputs }: Vertex): ShownInputs {
  let count = 0;
  const positions = inputs.map((input) => (input === undefined ? -1 : count++));
  return { at: (position) => positions[position] ?? -1, count };
}

function askedBy(vertices: readonly Vertex[], type: 'secret' | 'ssh'): Asked[] {
  const found = new Map<string, Asked>();
  for (const { op } of vertices) {
    for (const mount of op.kind === 'exec' ? op.mounts : []) {
      if (mount.type === type) {
        const isOptional = !mount.isRequired && found.get(mount.id)?.isOptional !== false;
        found.set(mount.id, { id: mount.id, isOptional });
      }
    }
  }
  return [...found.values()];
}
