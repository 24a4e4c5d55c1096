import { parsePlatform, type Platform } from '../../../../storage/image/platform.ts';
import { tryParseReference } from '../../../../storage/references/reference.ts';
import { expand, expandText, type Expansion } from '../../../base/dockerfile/words.ts';
import { errorText, invalidArgument, isEngineError } from '../../../base/errors.ts';
import { hintOfArguments, warnOfBase, warnOfPlatform } from '../lint/from.ts';
import { RULES } from '../lint/rules.ts';
import { located } from '../located.ts';
import { findContext } from '../sources/named-context.ts';
import type { Step } from '../instructions/command.ts';
import { readGlobals } from './global-args.ts';
import type { Plan, StagePlan } from './plan-stages.ts';
import { newOutline, type Build, type Stage } from './stage.ts';

/** The stages of a Dockerfile, with what their FROM says; nothing is asked for yet. Throws invalid_argument. */
export function readStages(build: Build, plan: Plan): Stage[] {
  warnOfDefaults(build, plan);
  const stages: Stage[] = [];
  for (const [index, stage] of plan.stages.entries()) {
    stages.push(located(stage.from.lines, () => readStage(build, stage, { index, before: stages })));
  }
  return stages;
}

function readStage(
  build: Build,
  plan: StagePlan,
  { index, before }: { index: number; before: readonly Stage[] },
): Stage {
  const { options, globals, escape } = build;
  const linter = build.linter.with(plan.from.comments);
  const said = expand(plan.base, { variables: globals.values, escape });
  const reference = said.text;
  warnOfBase(build, linter, plan, said);
  if (reference === '') {
    throw invalidArgument(`base name (${plan.base}) should not be blank`);
  }
  const outline = newOutline(globals);
  const platform = plan.platform === '' ? undefined : readPlatform(build, plan, outline.used);
  said.used.forEach((name) => outline.used.add(name));
  const context = plan.name === '' ? undefined : findContext(options, plan.name, platform);
  // The last of several stages of one name counts.
  const base = context === undefined ? before.findLast((stage) => stage.plan?.name === reference) : undefined;
  const ownFrom = base === undefined && reference !== 'scratch' ? 1 : 0;
  return {
    plan,
    title: plan.name || `stage-${index}`,
    reference,
    platform,
    lines: plan.from.lines,
    base,
    context,
    sources: new Map(),
    steps: context === undefined ? plan.steps : [],
    isFresh: options.noCache === 'all' || options.noCache.includes(plan.name),
    state: undefined,
    isOnImage: false,
    hasTriggers: false,
    isDone: false,
    count: { at: 0, total: context === undefined ? shownOf(plan.steps) + ownFrom : 0 },
    outline:
      base === undefined
        ? outline
        : { ...newOutline(globals), args: new Map(base.outline.args), used: outline.used },
  };
}

/** How many of them progress shows. */
export function shownOf(steps: readonly Step[]): number {
  return steps.filter(({ command }) => ['add', 'copy', 'run', 'workdir'].includes(command.kind)).length;
}

function readPlatform(build: Build, plan: StagePlan, used: Set<string>): Platform {
  const { globals, escape } = build;
  const linter = build.linter.with(plan.from.comments);
  const said: Expansion = expand(plan.platform, { variables: globals.values, escape });
  warnOfPlatform(build, linter, plan, said);
  const hint = hintOfArguments(build, said);
  if (said.text === '') {
    throw invalidArgument(`empty platform value from expression ${plan.platform}${hint}`);
  }
  said.used.forEach((name) => used.add(name));
  try {
    return parsePlatform(said.text, `failed to parse platform ${plan.platform}`, { anySystem: true });
  } catch (error) {
    throw invalidArgument(`${errorText(error)}: invalid argument${hint}`);
  }
}

/** Images should be there for who gives no arguments, too; one that must be given (`${NAME:?why}`) has no default. */
function warnOfDefaults(build: Build, plan: Plan): void {
  const { options, escape } = build;
  const defaults = readable(() => readGlobals(plan, options, new Map()).values);
  if (defaults === undefined) {
    return;
  }
  for (const { base, from } of plan.stages) {
    const name = readable(() => expandText(base, { variables: defaults, escape }));
    if (name !== undefined && tryParseReference(name) === undefined) {
      const detail = `Default value for ARG ${base} results in empty or invalid base image name`;
      build.linter.warn(RULES.invalidDefaultArgInFrom, from.lines, detail);
    }
  }
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return undefined;
    }
    throw error;
  }
}
