import { formatPlatform, type Platform } from '../../../../storage/image/platform.ts';
import {
  canonicalRepository,
  parseReference,
  withDefaultTag,
} from '../../../../storage/references/reference.ts';
import { EngineError, isEngineError, unreachable } from '../../../base/errors.ts';
import type { Vertex } from '../../graph/op.ts';
import { WHOLE } from '../../graph/whole.ts';
import { warnOfImagePlatform } from '../lint/from.ts';
import { locatedAsync } from '../located.ts';
import type { BaseImage, FoundImage, NamedContext } from '../options.ts';
import { findContext } from '../sources/named-context.ts';
import { localVertex } from '../sources/source-tree.ts';
import type { Build, Stage, StageState } from './stage.ts';

const UNIX_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const WINDOWS_PATH = String.raw`c:\Windows\System32;c:\Windows`;

/** Begins a stage on an image, on what the client has for its name, or on nothing. Throws what the port throws. */
export async function beginStage(build: Build, stage: Stage): Promise<StageState> {
  return await locatedAsync(stage.lines, async () => {
    const { options } = build;
    const platform = stage.platform ?? options.targetPlatform ?? options.buildPlatform;
    if (stage.context !== undefined) {
      return await beginContext(build, stage.context, { name: stage.plan?.name ?? '', platform });
    }
    if (stage.reference === 'scratch') {
      return newState(undefined, emptyImage(platform), platform);
    }
    const reference = fullName(stage.reference);
    const context = findContext(options, reference, platform);
    if (context === undefined) {
      return await beginImage(build, stage, { reference, platform });
    }
    const state = await beginContext(build, context, { name: stage.reference, platform });
    return stage.plan === undefined ? state : asLayers(state);
  });
}

async function beginImage(
  build: Build,
  stage: Stage,
  { reference, platform }: { reference: string; platform: Platform },
): Promise<StageState> {
  const image = await findImage(build, { spelled: stage.reference, reference, platform });
  if (image.hasLayers) {
    const linter = build.linter.with(stage.plan?.from.comments ?? []);
    warnOfImagePlatform(linter, { name: stage.reference, lines: stage.lines }, platform, image);
  }
  stage.isOnImage = image.hasLayers;
  const tree = {
    ...imageVertex(build, image, platform),
    name: `FROM ${image.reference}`,
    lines: stage.lines,
  };
  return newState(image.hasLayers ? tree : undefined, image, platform);
}

/** Errors tell the name as it is written, and what it stands for (BuildKit's words since 0.12). */
async function findImage(
  { ports }: Build,
  { spelled, reference, platform }: { spelled: string; reference: string; platform: Platform },
): Promise<FoundImage> {
  try {
    return await ports.findImage(reference, platform);
  } catch (error) {
    if (!isEngineError(error) || error.code === 'canceled') {
      throw error;
    }
    const message = `${spelled}: failed to resolve source metadata for ${reference}: ${error.message}`;
    throw new EngineError(error.code, message, { cause: error, details: error.details });
  }
}

async function beginContext(
  build: Build,
  context: NamedContext,
  { name, platform }: { name: string; platform: Platform },
): Promise<StageState> {
  switch (context.kind) {
    case 'image': {
      if (context.reference === 'scratch') {
        return newState(undefined, emptyImage(platform), platform);
      }
      const image = await build.ports.findImage(fullName(context.reference), platform);
      const title = `[context ${name}] ${image.reference}`;
      const tree = { ...imageVertex(build, image, platform), name: title };
      return newState(image.hasLayers ? tree : undefined, image, platform);
    }
    case 'layout': {
      const { tree: op, image } = await build.ports.findLayout(context.layout, platform);
      const tree = op && { op, inputs: [], name: context.name };
      return newState(tree, image, platform);
    }
    case 'source': {
      const { op } = context;
      const tree: Vertex =
        op.kind === 'local'
          ? localVertex(
              build.locals,
              { ...op, excludePatterns: await build.ports.ignoredOf(op.name, name) },
              context.name,
            )
          : { op, inputs: [], name: context.name };
      const paths = tree.op.kind === 'local' ? build.locals.get(tree.op) : undefined;
      return { ...newState(tree, emptyImage(platform), platform, paths), isFiles: true };
    }
    case 'result':
      return {
        ...newState(context.tree, context.image ?? emptyImage(platform), platform),
        isFiles: context.isFiles,
      };
    default:
      return unreachable(context);
  }
}

function imageVertex(
  { options }: Build,
  { reference }: FoundImage,
  platform: Platform,
): Omit<Vertex, 'name'> {
  const mode = options.pulls ? 'pull' : 'local';
  return { op: { kind: 'image', reference, platform: formatPlatform(platform), mode }, inputs: [] };
}

/** `docker.io/library/debian:12` */
function fullName(text: string): string {
  const reference = withDefaultTag(parseReference(text));
  const { tag, digest } = reference;
  const name = canonicalRepository(reference);
  return `${name}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
}

function defaultPath(os: string): string {
  return os === 'windows' ? WINDOWS_PATH : UNIX_PATH;
}

function emptyImage({ os, architecture, variant = '' }: Platform): BaseImage {
  const config = { WorkingDir: '/', Env: [`PATH=${defaultPath(os)}`] };
  return { os, architecture, variant, author: '', config, history: [] };
}

/** Commands find programs without a PATH of the image as well. */
function newState(
  tree: Vertex | undefined,
  { os, architecture, variant, author, config, history }: BaseImage,
  platform: Platform,
  paths = new Set<string>(),
): StageState {
  const given = config.Env ?? [];
  const Env = given.some((item) => item.startsWith('PATH=')) ? given : [...given, `PATH=${defaultPath(os)}`];
  const env = new Map(
    Env.map((item): [string, string] => {
      const equals = item.indexOf('=');
      return equals < 0 ? [item, ''] : [item.slice(0, equals), item.slice(equals + 1)];
    }),
  );
  return {
    tree,
    isFiles: false,
    paths,
    platform,
    env,
    image: { os, architecture, variant, author, config: { ...config, Env }, history },
    args: [],
    last: new Map(),
    hasWorkdir: false,
  };
}

/** What a stage or an image stands on: files that are no layers become one, all of them. */
export function asLayers(state: StageState): StageState {
  if (!state.isFiles) {
    return state;
  }
  state.paths.add('/');
  const tree: Vertex = {
    op: { kind: 'files', actions: [WHOLE] },
    inputs: [undefined, state.tree],
    name: `${state.tree?.name ?? ''} as a layer`,
  };
  const entry = { createdBy: 'COPY / / # buildkit', comment: 'buildkit.dockerfile.v0', emptyLayer: false };
  const image = { ...state.image, history: [...state.image.history, entry] };
  return { ...state, tree, image, isFiles: false, paths: new Set() };
}

/** A stage on another: all that it has, but for the triggers, which have been run. */
export function stateOnStage(below: StageState): StageState {
  const base = asLayers(below);
  const { OnBuild: _, ...config } = base.image.config;
  return { ...base, env: new Map(base.env), image: { ...base.image, config }, last: new Map() };
}
