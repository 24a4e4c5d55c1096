import { expandText } from '../../../base/dockerfile/words.ts';
import { EngineError, invalidArgument } from '../../../base/errors.ts';
import type { Step } from '../instructions/command.ts';
import { mountSource } from '../instructions/mount.ts';
import { located } from '../located.ts';
import { newOutline, type Build, type Stage } from './stage.ts';

/** All stages of a build, and images that steps copy from, in the order in which they are read. */
export interface Stages {
  own: readonly Stage[];
  /** By the names that steps have for them. */
  images: Map<string, Stage>;
}

/** Finds what steps of a stage copy from; true where there is something new. Throws invalid_argument. */
export function addSources(build: Build, stages: Stages, stage: Stage, steps: readonly Step[]): boolean {
  let isNew = false;
  for (const step of steps) {
    for (const name of located(step.lines, () => sourcesOf(step))) {
      if (!stage.sources.has(name)) {
        const source = located(step.lines, () => findSource(build, stages, step, name));
        stage.sources.set(name, source);
        isNew = true;
      }
    }
  }
  return isNew;
}

function sourcesOf({ command }: Step): string[] {
  if (command.kind === 'run') {
    return command.mounts.map((mount) => mountSource(mount)).filter((name) => name !== '');
  }
  if (command.kind !== 'copy' || command.from === '') {
    return [];
  }
  if (expandText(command.from, { variables: new Map() }) !== command.from) {
    throw invalidArgument(
      'variable expansion is not supported for --from, define a new stage with FROM using ARG from global scope as a ' +
        'workaround',
    );
  }
  return [command.from];
}

function findSource(build: Build, { own, images }: Stages, step: Step, name: string): Stage {
  if (step.command.kind === 'copy' && /^\d+$/.test(name)) {
    const found = own[Number(name)];
    if (found === undefined) {
      throw invalidArgument(`invalid stage index ${name}`);
    }
    return found;
  }
  const found = findStage(own, name) ?? images.get(name) ?? imageStage(build, step, name);
  if (found.plan === undefined) {
    images.set(name, found);
  }
  return found;
}

/** By its name in any letters; the last of several. */
export function findStage(stages: readonly Stage[], name: string): Stage | undefined {
  return stages.findLast(({ plan }) => plan?.name === name.toLowerCase() && name !== '');
}

function imageStage({ globals }: Build, { lines }: Step, reference: string): Stage {
  return {
    plan: undefined,
    title: '',
    reference,
    platform: undefined,
    lines,
    base: undefined,
    context: undefined,
    sources: new Map(),
    steps: [],
    isFresh: false,
    state: undefined,
    isOnImage: false,
    hasTriggers: true,
    isDone: false,
    count: { at: 0, total: 0 },
    outline: newOutline(globals),
  };
}

/** What the result of a stage is made of, itself too. */
export function reachable(targets: readonly Stage[]): Set<Stage> {
  const found = new Set<Stage>();
  const open = [...targets];
  for (let stage = open.pop(); stage !== undefined; stage = open.pop()) {
    if (!found.has(stage)) {
      found.add(stage);
      open.push(...stage.sources.values(), ...(stage.base === undefined ? [] : [stage.base]));
    }
  }
  return found;
}

/** Throws invalid_argument for stages that copy from each other in a circle. */
export function refuseCircles(stages: readonly Stage[]): void {
  const done = new Set<Stage>();
  const path = new Set<Stage>();
  const visit = (stage: Stage): void => {
    if (path.has(stage)) {
      const { from, to } = stage.lines;
      throw new EngineError('invalid_argument', `circular dependency detected on stage: ${stage.title}`, {
        details: { line: from, endLine: to },
      });
    }
    if (!done.has(stage)) {
      done.add(stage);
      path.add(stage);
      stage.sources.forEach(visit);
      path.delete(stage);
    }
  };
  stages.forEach(visit);
}
