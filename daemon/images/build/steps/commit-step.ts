import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ContainerConfig } from '../../../../api/types/container.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { makeStepChild, repeatChild } from '../../commit/child.ts';
import type { ImageRecord } from '../../image-index.ts';
import { runConfig } from '../../wire.ts';
import type { SolvedStep, StepWork } from '../ports.ts';
import type { Build, StageState } from '../state.ts';

/** One step of a build, decided but not done. */
export interface Step {
  /** How containers of the image run, afterwards. */
  config: ContainerConfig;
  /**
   * The command that the history shows: that of dockerd's container for this step. With the parent and `config` it is
   * all that the result depends on.
   */
  command: string[];
  author?: string;
  /** Makes the layer; undefined = none. */
  work?: StepWork;
  /** Of the container that did it, once that is known; `''` = none did. */
  containerId?: () => string;
}

const SHELL = ['/bin/sh', '-c'];

/** The command of a step that runs none: a shell of `config` with nothing to do. */
export function nop(text: string, { Shell }: ContainerConfig): string[] {
  return [...(Shell ?? SHELL), `#(nop) ${text}`];
}

/**
 * Takes the image that this step made of its parent before, or makes it. Only steps done on this engine are found: what
 * was loaded or pulled has no steps, whatever history it carries, unless the client names it (`cachefrom`).
 */
export async function commitStep(build: Build, state: StageState, step: Step): Promise<void> {
  const { request, progress } = build;
  const author = step.author ?? state.author;
  const stepKey = keyOf(step, author);
  const known = request.nocache ? undefined : await cached(build, state, { step, stepKey });
  if (known === undefined) {
    state.imageId = await make(build, state, { step, author, stepKey });
  } else {
    progress.cached();
    state.imageId = known;
  }
  state.config = step.config;
  state.author = author;
}

/** The image of a step that was made before, held. */
async function cached(
  build: Build,
  { imageId: parentId }: StageState,
  { step, stepKey }: { step: Step; stepKey: string },
): Promise<string | undefined> {
  const { images, cacheSources } = build;
  const { index } = images;
  const here = index.madeBy(parentId, stepKey);
  const isWhole = ({ row }: ImageRecord): boolean => index.lostOf(row.layerIds).length === 0;
  if (here !== undefined && isWhole(here) && cacheSources.allows(here)) {
    build.hold(here.row.id);
    return here.row.id;
  }
  const found = cacheSources.find(index.get(parentId), step.command.join(' '));
  if (found === undefined || !isWhole(found.image)) {
    return undefined;
  }
  const { image, position } = found;
  if (
    position === image.config.history.length - 1 &&
    isDeepStrictEqual(runConfig(image.config.config), runConfig({ ...step.config }))
  ) {
    build.hold(image.row.id);
    return image.row.id;
  }
  const { config, command } = step;
  const containerConfig = { ...config, Cmd: command };
  return await repeatChild(
    images,
    { parentId, config, containerConfig, names: [], committed: (imageId) => build.hold(imageId) },
    found,
  );
}

async function make(
  build: Build,
  state: StageState,
  { step, author, stepKey }: { step: Step; author: string; stepKey: string },
): Promise<string> {
  build.signal.throwIfAborted();
  using made = await solve(build, state, step);
  if (made?.isCached === true) {
    build.progress.cached();
  }
  failpoint('images.build.step');
  return await makeStepChild(
    build.images,
    {
      parentId: state.imageId,
      config: step.config,
      containerConfig: { ...step.config, Cmd: step.command },
      containerId: step.containerId?.() ?? '',
      author,
      comment: '',
      createdBy: step.command.join(' '),
      names: [],
      stepKey,
      committed: (imageId) => build.hold(imageId),
    },
    made?.layerIds,
  );
}

async function solve(build: Build, state: StageState, { work }: Step): Promise<SolvedStep | undefined> {
  const { request, solver, signal } = build;
  if (work === undefined) {
    return undefined;
  }
  // Images that a client names are its only cache.
  const isFresh = request.nocache || request.cacheFrom.length > 0;
  // An image without files is like none.
  const { length } = build.images.index.get(state.imageId)?.row.layerIds ?? [];
  const step = { parentId: length === 0 ? '' : state.imageId, work, isFresh };
  return await solver.solve(step, signal);
}

function keyOf({ config, command }: Step, author: string): string {
  const text = JSON.stringify({ version: 2, config, command, author });
  return createHash('sha256').update(text).digest('hex');
}
