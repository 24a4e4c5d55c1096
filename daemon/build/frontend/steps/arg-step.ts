import type { Argument } from '../instructions/command.ts';
import { warnOfSecret } from '../lint/secrets.ts';
import { addHistory, expanded, NO_VARIABLES, setVariable, type StepContext } from './context.ts';

/** ARG in a stage: what the client gave, or the default, or what stands before the first FROM. */
export function argStep(context: StepContext, { args }: { args: readonly Argument[] }): void {
  const { build, stage, state, step } = context;
  const words = args.map((argument) => {
    const { name } = argument;
    warnOfSecret(context, 'ARG', name);
    const given = build.options.args.get(name);
    const global = argument.value === undefined ? build.globals.values.get(name) : undefined;
    const fallback = argument.value === undefined ? global : undefined;
    const value = given ?? (argument.value === undefined ? fallback : expanded(context, argument.value));
    if (value !== undefined && !NO_VARIABLES.has(name)) {
      setVariable(state.env, name, value);
    }
    if (given !== undefined || global === undefined) {
      const declared = { argument, instruction: step.instruction, value, dependencies: new Set<string>() };
      stage.outline.args.set(name, declared);
    }
    stage.outline.used.add(name);
    state.args = [...state.args, { name, value }];
    return value === undefined ? name : `${name}=${value}`;
  });
  addHistory(context, `ARG ${words.join(' ')}`);
}
