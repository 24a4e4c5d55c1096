import { posix } from 'node:path';
import type { SolvedStep, StepSolver, StepWork } from '../../images/build/ports.ts';
import { unreachable } from '../../base/errors.ts';
import {
  SANDBOX_HOSTNAME,
  type CopyFiles,
  type ExecOp,
  type FileAction,
  type ImageSource,
  type Vertex,
} from '../graph/op.ts';
import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import { release } from '../solver/ports.ts';
import type { Solver } from '../solver/solver.ts';

const DIRECTORY_MODE = 0o755;

type RunWork = StepWork & { kind: 'run' };

/**
 * The classic builder's way into the solver: each of its steps is a graph of one operation on the image before, known
 * by that image's layers. What comes of it is kept by the image of the step, and its record goes with that; BuildKit's
 * clients find it by what their own steps before came to, and their results are found here.
 */
export function stepSolver(solver: Solver<BuildTree>): StepSolver {
  return {
    solve: async (step, signal) => {
      const { parentId, work, isFresh } = step;
      const { op, inputs, ...facts } = vertexOf(parentId, work);
      const vertex: Vertex = {
        op,
        inputs,
        name: work.name,
        record: 'ofImage',
        ...facts,
        ...((isFresh || facts.isFresh) && { isFresh: true }),
      };
      let isCached = false;
      const progress = {
        started: () => undefined,
        cached: (told: Vertex) => {
          isCached ||= told === vertex;
        },
        completed: () => undefined,
        log: () => undefined,
        work: () => undefined,
      };
      // Nobody has a session: what steps need of the client is here.
      const trees = await solver.solve([vertex], { session: '', progress, signal });
      return solved(trees, isCached);
    },
  };
}

function solved(trees: readonly (BuildTree | undefined)[], isCached: boolean): SolvedStep {
  return {
    layerIds: layersOfTree(trees[0]),
    isCached,
    [Symbol.dispose]: () => release(trees),
  };
}

function vertexOf(
  parentId: string,
  work: StepWork,
): Pick<Vertex, 'op' | 'inputs' | 'container' | 'isFresh' | 'record'> {
  const base = parentId === '' ? undefined : image(parentId);
  switch (work.kind) {
    case 'directory':
      return { op: directory(work.path), inputs: [base] };
    case 'copy': {
      const inputs: (Vertex | undefined)[] = [base];
      return { op: { kind: 'files', actions: copies(work, inputs) }, inputs };
    }
    case 'run': {
      const op = command(work);
      // What no operation can say is known by its image alone.
      const facts = op === undefined ? ({ isFresh: true, record: 'none' } as const) : {};
      return { op: op ?? UNSAID, inputs: [base], container: work.container, ...facts };
    }
    default:
      return unreachable(work);
  }
}

function image(reference: string): Vertex {
  const op: ImageSource = { kind: 'image', reference, platform: '', mode: 'local' };
  return { op, inputs: [], name: reference };
}

function directory(path: string): { kind: 'files'; actions: FileAction[] } {
  return { kind: 'files', actions: [{ action: 'mkdir', path, mode: DIRECTORY_MODE, owner: '' }] };
}

/** In the order of the instruction, and as BuildKit's frontend has it: several of one origin are one action. */
function copies(work: StepWork & { kind: 'copy' }, inputs: (Vertex | undefined)[]): CopyFiles[] {
  const known = new Map<unknown, number>();
  const actions: CopyFiles[] = [];
  for (const { from, path, unpacks } of work.sources) {
    const isTree = 'imageId' in from;
    const origin = isTree ? from.imageId : from.files;
    const position = known.get(origin) ?? inputs.push(isTree ? image(from.imageId) : sent(from.files)) - 1;
    known.set(origin, position);
    const source = posix.resolve('/', path);
    const last = actions.at(-1);
    if (last?.from === position && last.unpacks === unpacks) {
      actions.splice(-1, 1, { ...last, sources: [...last.sources, source] });
      continue;
    }
    actions.push({
      action: 'copy',
      from: position,
      sources: [source],
      destination: work.target,
      // Files of a tree are root's, too, as dockerd's classic builder has it.
      owner: work.owner === '' && isTree ? '0:0' : work.owner,
      chmod: '',
      unpacks,
      keepsParents: false,
      exclude: [],
      isClassic: true,
    });
  }
  return actions;
}

function sent(files: Disposable): Vertex {
  return { op: { kind: 'sent', files }, inputs: [], name: 'build context' };
}

/** A command of which its container says all. */
const UNSAID: ExecOp = {
  kind: 'exec',
  argv: [],
  env: [],
  quietEnv: [],
  directory: '/',
  user: '',
  network: 'default',
  isPrivileged: false,
  hostname: SANDBOX_HOSTNAME,
  extraHosts: [],
  ulimits: [],
  cgroupParent: '',
  mounts: [],
};

const NETWORKS = ['default', 'none', 'host'] as const;

/**
 * As a graph of BuildKit's frontend says it; undefined where it cannot: volumes of the image, whose files a container
 * leaves behind, networks of users, a command of the image's own.
 */
function command(work: RunWork): ExecOp | undefined {
  const { argv, env, user, hasVolumes, container } = work;
  const {
    NetworkMode = 'default',
    ExtraHosts,
    ShmSize,
    Ulimits,
    CgroupParent,
  } = container.body.HostConfig ?? {};
  const network = NETWORKS.find((name) => name === NetworkMode);
  if (network === undefined || hasVolumes || argv.length === 0) {
    return undefined;
  }
  return {
    ...UNSAID,
    argv,
    env,
    directory: work.directory,
    user,
    network,
    extraHosts: (ExtraHosts ?? []).map((text) => {
      const colon = text.indexOf(':');
      return { name: text.slice(0, colon), address: text.slice(colon + 1) };
    }),
    ...(ShmSize !== undefined && { shmBytes: ShmSize }),
    ulimits: (Ulimits ?? []).map(({ Name, Soft, Hard }) => ({ name: Name, soft: Soft, hard: Hard })),
    cgroupParent: CgroupParent ?? '',
  };
}
