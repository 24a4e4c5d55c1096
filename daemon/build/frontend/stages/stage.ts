import type { Platform } from '../../../../storage/image/platform.ts';
import type { LocalSource, Vertex } from '../../graph/op.ts';
import type { Step } from '../instructions/command.ts';
import type { Linter } from '../lint/linter.ts';
import type { BaseImage, BuildOptions, FrontendPorts, NamedContext } from '../options.ts';
import type { DeclaredArg, Globals } from './global-args.ts';
import type { StagePlan } from './plan-stages.ts';

/** What all stages of one build share. */
export interface Build {
  options: BuildOptions;
  ports: FrontendPorts;
  escape: string;
  globals: Globals;
  linter: Linter;
  /** The context that files without `--from` come from. */
  context: Vertex;
  /** Local sources, and which paths of each are wanted. */
  locals: Map<LocalSource, Set<string>>;
}

/** A stage of the Dockerfile, or an image that one copies from. Changes while it is read. */
export interface Stage {
  /** Undefined: an image that no FROM names. */
  plan: StagePlan | undefined;
  /** As progress shows it: `build`, `stage-1`; `''` = nothing. */
  title: string;
  /** Of the base, variables replaced. */
  reference: string;
  /** Of its FROM; undefined = nothing was said. */
  platform: Platform | undefined;
  /** Lines of its FROM, or of what copies from it. */
  lines: { from: number; to: number };
  /** The stage that it is based on. */
  base: Stage | undefined;
  /** What the client has for its name. */
  context: NamedContext | undefined;
  /** Stages that its steps copy from, by what they call them. */
  sources: Map<string, Stage>;
  steps: readonly Step[];
  isFresh: boolean;
  /** Undefined until its base is known. */
  state: StageState | undefined;
  /** Its FROM is a step: an image of a registry. */
  isOnImage: boolean;
  hasTriggers: boolean;
  /** Its own steps are read, or there are none. */
  isDone: boolean;
  /** Numbers of `[2/5]`. */
  count: { at: number; total: number };
  outline: Outline;
}

/** What the next step of a stage stands on. */
export interface StageState {
  tree: Vertex | undefined;
  /** Its files are no layers: a directory, a repository. */
  isFiles: boolean;
  /** Where the tree is that of a client's directory: what is read of it. */
  paths: Set<string>;
  platform: Platform;
  /** Environment of commands, arguments too. */
  env: Map<string, string>;
  image: BaseImage;
  /** ARG of the stage, and of those below. */
  args: readonly { name: string; value: string | undefined }[];
  /** Instructions of which the last one counts, and where it stands. */
  last: Map<'cmd' | 'entrypoint' | 'healthcheck', { from: number; to: number }>;
  hasWorkdir: boolean;
}

/** What a build may be told, as `--call=outline` shows it. */
export interface Outline {
  args: Map<string, DeclaredArg>;
  used: Set<string>;
  secrets: Map<string, Mentioned>;
  ssh: Map<string, Mentioned>;
}

interface Mentioned {
  isRequired: boolean;
  lines: { from: number; to: number };
}

export function newOutline(globals: Globals): Outline {
  return { args: new Map(globals.declared), used: new Set(), secrets: new Map(), ssh: new Map() };
}
