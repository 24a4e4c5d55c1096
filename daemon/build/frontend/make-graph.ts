import { invalidArgument } from '../../base/errors.ts';
import type { Dockerfile } from '../../base/dockerfile/parse.ts';
import type { Vertex } from '../graph/op.ts';
import { unify } from '../graph/unify.ts';
import { located } from './located.ts';
import { Linter, type LintConfig, type LintWarning } from './lint/linter.ts';
import type { BaseImage, BuildOptions, FrontendPorts } from './options.ts';
import { localVertex, setWantedPaths } from './sources/source-tree.ts';
import { asLayers, beginStage, stateOnStage } from './stages/base-image.ts';
import { readGlobals } from './stages/global-args.ts';
import { planStages } from './stages/plan-stages.ts';
import { readStages, shownOf } from './stages/read-stages.ts';
import { scannedTrees } from './stages/scanned.ts';
import { addSources, findStage, reachable, refuseCircles, type Stages } from './stages/sources.ts';
import type { Build, Stage } from './stages/stage.ts';
import { triggersOf } from './stages/triggers.ts';
import { applyStep } from './steps/apply-step.ts';
import { numbered } from './steps/step-name.ts';

export interface FrontendRequest {
  dockerfile: Dockerfile;
  options: BuildOptions;
  lint: LintConfig;
  /** Stages that the target does not need are read, too: to say what is wrong with them. */
  readsAll: boolean;
  /** Takes what rules do not like; who has an error instead of a graph finds it here. */
  warnings?: LintWarning[];
}

export interface BuildGraph {
  /** The target's files; undefined = there are none. */
  tree: Vertex | undefined;
  /**
   * How containers of the image run, and what made it. Entries of the history without `emptyLayer` stand for the tree's
   * layers, bottom first; `created` is not set for those of this build.
   */
  image: BaseImage;
  /** What is to be looked through besides the tree, by name. */
  scanned: ReadonlyMap<string, Vertex | undefined>;
  target: Stage;
  warnings: readonly LintWarning[];
}

/**
 * What is to be done for a Dockerfile's target, and the configuration of the image that comes of it. Runs nothing; asks
 * `ports` for the images that needed stages stand on. Throws EngineError; `details.line` and `details.endLine` say
 * where in the Dockerfile.
 */
export async function makeGraph(request: FrontendRequest, ports: FrontendPorts): Promise<BuildGraph> {
  const { dockerfile, options, lint, readsAll } = request;
  const linter = new Linter(lint, request.warnings);
  const plan = planStages(dockerfile, linter);
  const locals: Build['locals'] = new Map();
  const { context } = options;
  const name = '[internal] load build context';
  const build: Build = {
    options,
    ports,
    escape: plan.escape,
    globals: readGlobals(plan, options, options.args),
    linter,
    context:
      context.kind === 'local' ? localVertex(locals, context, name) : { op: context, inputs: [], name },
    locals,
  };
  const stages: Stages = { own: readStages(build, plan), images: new Map() };
  const target = targetOf(stages.own, options.target);
  for (const stage of stages.own) {
    addSources(build, stages, stage, stage.steps);
  }
  refuseCircles(stages.own);
  const [only] = stages.own;
  if (stages.own.length + stages.images.size === 1 && only !== undefined) {
    only.title = '';
  }
  const needed = await beginStages(build, stages, readsAll ? stages.own : [target]);
  for (const stage of stages.own.filter((item) => needed.has(item))) {
    readSteps(build, stage);
  }
  linter.refuse();
  if (target.state !== undefined) {
    target.state = asLayers(target.state);
  }
  const scans = scannedTrees(build, target, needed);
  setWantedPaths(locals);
  const [tree, ...others] = unify([target.state?.tree, ...scans.values()]);
  const scanned = new Map([...scans.keys()].map((key, position) => [key, others[position]]));
  return { tree, image: finished(target, options), scanned, target, warnings: linter.warnings };
}

function targetOf(stages: readonly Stage[], name: string): Stage {
  const found =
    name === ''
      ? stages.at(-1)
      : (findStage(stages, name) ?? (/^\d+$/.test(name) ? stages[Number(name)] : undefined));
  if (found === undefined) {
    throw invalidArgument(`target stage ${JSON.stringify(name)} could not be found`);
  }
  return found;
}

/** Finds the images that stages stand on. Their triggers may need further ones. */
async function beginStages(build: Build, stages: Stages, targets: readonly Stage[]): Promise<Set<Stage>> {
  for (;;) {
    const needed = reachable(targets);
    const waiting = [...needed].filter((stage) => stage.base === undefined && stage.state === undefined);
    await Promise.all(
      waiting.map(async (stage) => {
        stage.state = await beginStage(build, stage);
        stage.isDone = stage.plan === undefined || stage.context !== undefined;
      }),
    );
    let isNew = false;
    for (const stage of [...needed].filter((item) => !item.hasTriggers)) {
      stage.hasTriggers = true;
      const triggers = triggersOf(stage);
      isNew = addSources(build, stages, stage, triggers) || isNew;
      stage.steps = [...triggers, ...stage.steps];
      stage.count.total += shownOf(triggers);
    }
    if (!isNew) {
      return needed;
    }
    refuseCircles(stages.own);
  }
}

function readSteps(build: Build, stage: Stage): void {
  const { base, lines } = stage;
  if (base?.state !== undefined) {
    const below = base.state;
    stage.state = located(lines, () => stateOnStage(below));
  }
  const { state } = stage;
  if (state === undefined || stage.isDone) {
    return;
  }
  const { OnBuild: _, ...config } = state.image.config;
  state.image = { ...state.image, config };
  if (stage.isOnImage && state.tree !== undefined) {
    const place = { platform: state.platform, env: new Map<string, string>() };
    state.tree = { ...state.tree, name: numbered(build, stage, place, state.tree.name) };
  }
  for (const step of stage.steps) {
    const linter = build.linter.with(step.instruction.comments);
    applyStep({ build, stage, state, step, linter });
  }
  stage.isDone = true;
}

function finished({ state }: Stage, { labels, targetPlatform }: BuildOptions): BaseImage {
  if (state === undefined) {
    throw invalidArgument('no stage was built');
  }
  const { image } = state;
  const { config } = image;
  const { os, architecture, variant } = targetPlatform ?? image;
  const isSame = os === image.os && architecture === image.architecture;
  return {
    ...image,
    os,
    architecture,
    variant: variant || (isSame ? image.variant : ''),
    config:
      labels.size === 0 ? config : { ...config, Labels: { ...config.Labels, ...Object.fromEntries(labels) } },
  };
}
