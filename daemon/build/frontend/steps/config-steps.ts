import type { HealthConfig } from '../../../../api/types/container.ts';
import { formatDuration } from '../../../base/go/duration.ts';
import type { Command, Pair } from '../instructions/command.ts';
import { checkSignal } from '../instructions/read-command.ts';
import { RULES } from '../lint/rules.ts';
import { warnOfSecret } from '../lint/secrets.ts';
import { addHistory, expanded, setConfig, setVariable, type StepContext } from './context.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

const SHELL = ['/bin/sh', '-c'];

/** The argument list of a command that is one text. */
export function inShell({ state }: StepContext, text: string): string[] {
  const shell = state.image.config.Shell ?? [];
  return [...(shell.length > 0 ? shell : SHELL), text];
}

export function envStep(context: StepContext, { pairs }: { pairs: readonly Pair[] }): void {
  const { state } = context;
  const set = expandedPairs(context, pairs);
  let env = state.image.config.Env ?? [];
  for (const { name, value } of set) {
    warnOfSecret(context, 'ENV', name);
    setVariable(state.env, name, value);
    const at = env.findIndex((item) => item.replace(/=.*$/s, '') === name);
    env = at < 0 ? [...env, `${name}=${value}`] : env.with(at, `${name}=${value}`);
  }
  setConfig(context, { Env: env });
  addHistory(context, ['ENV', ...set.map(({ name, value }) => `${name}=${value}`)].join(' '));
}

export function labelStep(context: StepContext, { pairs }: { pairs: readonly Pair[] }): void {
  const set = expandedPairs(context, pairs);
  const added = set.map(({ name, value }) => [name, value] as const);
  setConfig(context, {
    Labels: Object.fromEntries([...Object.entries(context.state.image.config.Labels ?? {}), ...added]),
  });
  addHistory(context, ['LABEL', ...added.map((pair) => pair.join('='))].join(' '));
}

/** All of an instruction's values are as they were before it. */
function expandedPairs(context: StepContext, pairs: readonly Pair[]): { name: string; value: string }[] {
  const { step, linter } = context;
  return pairs.map(({ name, value, isOldForm }) => {
    if (isOldForm) {
      const { word } = step.instruction;
      const detail = `"${word} key=value" should be used instead of legacy "${word} key value" format`;
      linter.warn(RULES.legacyKeyValueFormat, step.lines, detail);
    }
    return { name: expanded(context, name), value: expanded(context, value) };
  });
}

export function userStep(context: StepContext, command: Of<'user'>): void {
  const User = expanded(context, command.user);
  setConfig(context, { User });
  addHistory(context, `USER ${User}`);
}

export function stopSignalStep(context: StepContext, { signal }: Of<'stopsignal'>): void {
  const StopSignal = checkSignal(expanded(context, signal));
  setConfig(context, { StopSignal });
  addHistory(context, `STOPSIGNAL ${StopSignal}`);
}

export function maintainerStep(context: StepContext, { author }: Of<'maintainer'>): void {
  context.state.image = { ...context.state.image, author };
  addHistory(context, `MAINTAINER ${author}`);
}

export function cmdStep(context: StepContext, command: Of<'cmd' | 'entrypoint'>): void {
  warnUsedTwice(context, 'cmd');
  const Cmd = commandLine(context, command);
  setConfig(context, { Cmd: orNothing(Cmd), ArgsEscaped: true });
  addHistory(context, `CMD ${quoted(Cmd)}`);
}

/** One of the Dockerfile's own removes the command of the base. */
export function entrypointStep(context: StepContext, command: Of<'cmd' | 'entrypoint'>): void {
  warnUsedTwice(context, 'entrypoint');
  const Entrypoint = commandLine(context, command);
  setConfig(context, {
    Entrypoint: orNothing(Entrypoint),
    ...(!context.state.last.has('cmd') && { Cmd: null }),
  });
  addHistory(context, `ENTRYPOINT ${quoted(Entrypoint)}`);
}

/** An empty list is none: BuildKit writes no empty ones. */
function orNothing(words: string[]): string[] | null {
  return words.length === 0 ? null : words;
}

function commandLine(context: StepContext, { words, isJson }: Of<'cmd' | 'entrypoint'>): string[] {
  const { step, linter, state } = context;
  if (isJson) {
    return [...words];
  }
  if ((state.image.config.Shell ?? []).length === 0) {
    const { word } = step.instruction;
    const detail = `JSON arguments recommended for ${word} to prevent unintended behavior related to OS signals`;
    linter.warn(RULES.jsonArgsRecommended, step.lines, detail);
  }
  return inShell(context, words.join(' '));
}

export function shellStep(context: StepContext, { words }: Of<'shell'>): void {
  setConfig(context, { Shell: [...words] });
  addHistory(context, `SHELL [${words.join(' ')}]`);
}

export function volumeStep(context: StepContext, command: Of<'volume'>): void {
  const paths = command.paths.map((path) => expanded(context, path));
  setConfig(context, {
    Volumes: {
      ...context.state.image.config.Volumes,
      ...Object.fromEntries(paths.map((path) => [path, {}])),
    },
  });
  addHistory(context, `VOLUME [${paths.join(' ')}]`);
}

export function healthcheckStep(context: StepContext, { check }: Of<'healthcheck'>): void {
  warnUsedTwice(context, 'healthcheck');
  setConfig(context, { Healthcheck: check });
  addHistory(context, `HEALTHCHECK ${describeCheck(check)}`);
}

/** It says nothing of itself in the history. */
export function onbuildStep(context: StepContext, { trigger }: Of<'onbuild'>): void {
  setConfig(context, { OnBuild: [...(context.state.image.config.OnBuild ?? []), trigger] });
}

/** Go's own way to print such a structure. */
function describeCheck(check: HealthConfig): string {
  const { Test, Interval, Timeout, StartPeriod, StartInterval, Retries = 0 } = check;
  const times = Object.entries({ Interval, Timeout, StartPeriod, StartInterval });
  const fields = times.map(([name, nanos]) => `${name}:${formatDuration(nanos ?? 0)}`);
  return `{Test:[${(Test ?? []).join(' ')}] ${fields.join(' ')} Retries:${Retries}}`;
}

/** As Go's %q of a list. */
function quoted(words: readonly string[]): string {
  return `[${words.map((word) => JSON.stringify(word)).join(' ')}]`;
}

/** The earlier one counts for nothing: the warning stands at its place. */
function warnUsedTwice(
  { state, step, linter }: StepContext,
  kind: 'cmd' | 'entrypoint' | 'healthcheck',
): void {
  const before = state.last.get(kind);
  if (before !== undefined) {
    const detail =
      `Multiple ${step.instruction.word} instructions should not be used in the same stage because only the last ` +
      'one will be used';
    linter.warn(RULES.multipleInstructionsDisallowed, before, detail);
  }
  state.last.set(kind, step.lines);
}
