import { invalidArgument } from '../../base/errors.ts';
import { ONLY_FILE } from '../context/archive.ts';
import { inputOf, keepContext, loadContext, type ContextLoading } from '../context/main-context.ts';
import { VertexProgress } from './vertex-progress.ts';
import { subdirectoryOf } from '../context/subdirectory.ts';
import type { HeldSource, Vertex } from '../graph/op.ts';
import type { UsedSource } from '../graph/used-source.ts';
import { judged } from '../policy/asked-policy.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import { loadDefinition, loadIgnore, type Definition, type Loading } from './definition.ts';
import type { FrontendOptions } from './options.ts';

/** What a build is made of, until it is disposed of. */
export interface LoadedSources extends Disposable {
  definition: Definition;
  /** Of the `.dockerignore`. */
  ignorePatterns: readonly string[];
  /** Undefined: a directory of the session. */
  context: HeldSource | undefined;
  /** What context and Dockerfile were made of. */
  used: readonly UsedSource[];
}

/** Gets the context where it is no directory of the session, then the Dockerfile and the `.dockerignore` of it. */
export async function loadSources(
  build: ContextLoading & Loading,
  options: FrontendOptions,
): Promise<LoadedSources> {
  const { contextUrl: url, keepsGitDirectory, filename, hasOwnDockerfile } = options;
  using whole = await loadContext(build, { url, keepsGitDirectory });
  const directory = options.contextSubdirectory;
  using part =
    whole === undefined || whole.isFile || directory === ''
      ? undefined
      : await subdirectoryOf(build, whole, directory);
  const main = part ?? whole;
  // As BuildKit: what comes by a URL or as a body has its Dockerfile in it, an input has not.
  const isByInputs = url === '' && build.upload === undefined;
  using own = isByInputs && !hasOwnDockerfile ? await dockerfileInput(build) : NO_INPUT;
  const tree = own.tree ?? (hasOwnDockerfile || isByInputs ? undefined : whole?.tree);
  const isFile = whole?.isFile === true && tree === whole.tree;
  const place = { ...options, filename: isFile ? ONLY_FILE : filename, tree };
  const loaded = await loadDefinition(build, place);
  const source = own.tree === undefined ? tree && whole?.source : own.source;
  const definition = tree === undefined ? loaded : { ...loaded, source };
  // Of a description nothing but the Dockerfile is read: its client may offer no context.
  const isDescribed = ['frontend.outline', 'frontend.targets'].includes(options.subrequest);
  const ignorePatterns =
    isDescribed || main?.isFile === true
      ? []
      : await loadIgnore(build, { ...options, tree: main?.tree }, definition);
  const kept = main && keepContext(build.held, main, ignorePatterns);
  return {
    definition,
    ignorePatterns,
    context: kept && { kind: 'held', id: kept.id },
    used: [
      ...(main?.used ?? []),
      ...own.used,
      ...(tree === undefined ? [{ kind: 'local', name: options.dockerfileName } as const] : []),
    ],
    [Symbol.dispose]: () => kept?.[Symbol.dispose](),
  };
}

interface DockerfileInput extends Disposable {
  tree?: BuildTree;
  source?: Vertex;
  used: readonly UsedSource[];
}

const NO_INPUT: DockerfileInput = { used: [], [Symbol.dispose]: () => undefined };

/** The Dockerfile as a graph of the client. */
async function dockerfileInput(build: ContextLoading): Promise<DockerfileInput> {
  if (!build.inputs.has('dockerfile')) {
    return NO_INPUT;
  }
  const vertex = await judged(build.signal, () => inputOf(build, 'dockerfile'));
  if (vertex === undefined) {
    throw invalidArgument('the input dockerfile of the client is empty');
  }
  const { solver, vertices, session, signal } = build;
  const progress = new VertexProgress(vertices, [vertex]);
  const used: UsedSource[] = [];
  const [tree] = await solver.solve([vertex], {
    session: session.id,
    progress,
    signal,
    used: (source) => used.push(source),
  });
  return { ...(tree && { tree }), source: vertex, used, [Symbol.dispose]: () => tree?.[Symbol.dispose]() };
}
