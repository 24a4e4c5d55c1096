import { expand } from '../../../base/dockerfile/words.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { closest } from '../../../base/dockerfile/closest.ts';
import type { Step } from '../instructions/command.ts';
import type { Linter } from '../lint/linter.ts';
import { RULES } from '../lint/rules.ts';
import type { Build, Stage, StageState } from '../stages/stage.ts';

/** One step that is being read, and where. */
export interface StepContext {
  build: Build;
  stage: Stage;
  state: StageState;
  step: Step;
  /** With what comments before the step skip. */
  linter: Linter;
}

/** Only for attestations, which are not made. */
export const NO_VARIABLES: ReadonlySet<string> = new Set([
  'BUILDKIT_SBOM_SCAN_CONTEXT',
  'BUILDKIT_SBOM_SCAN_STAGE',
]);

/** A text with its variables replaced. Warns of those that are not set. Throws invalid_argument. */
export function expanded(context: StepContext, text: string): string {
  const { build, state } = context;
  const { text: value, unset } = expand(text, { variables: state.env, escape: build.escape });
  warnUnset(context, unset);
  return value;
}

/** The same of a text that stands for several words. */
export function expandedWords(context: StepContext, text: string): readonly string[] {
  const { build, state } = context;
  return expand(text, { variables: state.env, escape: build.escape }).words;
}

/** The content of a here-document: quotes mean nothing in it. */
export function expandedDocument(context: StepContext, text: string): string {
  const { text: value, unset } = expand(text, { variables: context.state.env, ignoresQuotes: true });
  warnUnset(context, unset);
  return value;
}

function warnUnset({ state, step, linter }: StepContext, unset: ReadonlySet<string>): void {
  for (const name of unset) {
    if (state.args.some((arg) => arg.name === name) || NO_VARIABLES.has(name)) {
      continue;
    }
    const meant = closest(name, [...state.env.keys()]);
    const hint = meant === undefined ? '' : ` (did you mean $${meant}?)`;
    linter.warn(RULES.undefinedVar, step.lines, `Usage of undefined variable '$${name}'${hint}`);
  }
}

/** Throws invalid_argument for a path of Windows, of which nothing here would make the same as Windows does. */
export function refuseDrive({ state }: StepContext, path: string): void {
  if (state.platform.os === 'windows' && /^[A-Za-z]:|\\/.test(path)) {
    throw invalidArgument(`path ${path}: drives and backslashes are not supported`);
  }
}

/** What a step did to the configuration; `isLayer`: and to the files. */
export function addHistory({ state }: StepContext, createdBy: string, isLayer = false): void {
  const entry = { createdBy, comment: 'buildkit.dockerfile.v0', emptyLayer: !isLayer };
  state.image = { ...state.image, history: [...state.image.history, entry] };
}

export function setConfig({ state }: StepContext, change: Partial<StageState['image']['config']>): void {
  state.image = { ...state.image, config: { ...state.image.config, ...change } };
}

/** A later value takes the place of an earlier one at the end: so it is what commands see. */
export function setVariable(env: Map<string, string>, name: string, value: string): void {
  env.delete(name);
  env.set(name, value);
}
