import { createHash } from 'node:crypto';
import type { ContainerConfig } from '../../../../api/types/container.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { makeChild, type LayerTar } from '../../child.ts';
import type { Build, StageState } from '../state.ts';

/** One step of a build, decided but not done. */
export interface Step {
  /** How containers of the image run, afterwards. */
  config: ContainerConfig;
  /** The command that the history shows: what dockerd's container for this step would have been told to do. */
  command: string[];
  author?: string;
  /** What else the result depends on: digests of files. */
  inputs?: readonly string[];
  /** Makes the layer; undefined = none. */
  layer?: () => Promise<{ tar: LayerTar & AsyncDisposable; containerId: string }>;
  /** After the image is there, or could not be made. */
  done?: (isOk: boolean) => Promise<void>;
}

const NOP = ['/bin/sh', '-c'];

/** The command of a step that runs none. */
export function nop(text: string): string[] {
  return [...NOP, `#(nop) ${text}`];
}

/**
 * Takes the image that this step made of its parent before, or makes it. Only steps done on this engine are found: what
 * was loaded or pulled has no steps, whatever its history says.
 */
export async function commitStep(build: Build, state: StageState, step: Step): Promise<void> {
  const { images, request, progress } = build;
  const author = step.author ?? state.author;
  const stepKey = keyOf(step, author);
  const known = request.nocache ? undefined : images.index.madeBy(state.imageId, stepKey);
  if (known === undefined) {
    state.imageId = await make(build, state, { step, author, stepKey });
  } else {
    progress.say(' ---> Using cache\n');
    state.imageId = known.row.id;
  }
  state.config = step.config;
  state.author = author;
}

async function make(
  build: Build,
  state: StageState,
  { step, author, stepKey }: { step: Step; author: string; stepKey: string },
): Promise<string> {
  build.signal.throwIfAborted();
  const made = await step.layer?.();
  let isOk = false;
  try {
    failpoint('images.build.step');
    const id = await makeChild(
      build.images,
      {
        parentId: state.imageId,
        config: step.config,
        containerConfig: { ...step.config, Cmd: step.command },
        containerId: made?.containerId ?? '',
        author,
        comment: '',
        createdBy: step.command.join(' '),
        names: [],
        stepKey,
      },
      made?.tar,
      build.signal,
    );
    isOk = true;
    return id;
  } finally {
    await made?.tar[Symbol.asyncDispose]();
    await step.done?.(isOk);
  }
}

function keyOf({ config, command, inputs = [] }: Step, author: string): string {
  const text = JSON.stringify({ version: 1, config, command, inputs, author });
  return createHash('sha256').update(text).digest('hex');
}
