import { formatPlatform, type Platform } from '../../../../storage/image/platform.ts';
import { expand } from '../../../base/dockerfile/words.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import type { Argument } from '../instructions/command.ts';
import { located } from '../located.ts';
import type { BuildOptions } from '../options.ts';
import type { Plan } from './plan-stages.ts';

/** An ARG as the outline of a build shows it. */
export interface DeclaredArg {
  argument: Argument;
  instruction: Instruction;
  value: string | undefined;
  /** Other arguments that its default is made of. */
  dependencies: ReadonlySet<string>;
}

export interface Globals {
  /** For FROM; a stage sees one after an ARG without a default. */
  values: ReadonlyMap<string, string>;
  declared: ReadonlyMap<string, DeclaredArg>;
}

/** What the platforms and the target make known, and ARG before the first FROM. Throws invalid_argument. Pure. */
export function readGlobals(
  { globals, stages, escape }: Plan,
  options: Pick<BuildOptions, 'buildPlatform' | 'targetPlatform' | 'target'>,
  given: ReadonlyMap<string, string>,
): Globals {
  const target = options.target || (stages.at(-1)?.name ?? '') || 'default';
  const values = automaticArgs(options, target, given);
  const declared = new Map<string, DeclaredArg>();
  for (const { argument, instruction } of globals) {
    const { name } = argument;
    let value = given.get(name);
    const dependencies = new Set<string>();
    if (value === undefined && argument.value !== undefined) {
      const fallback = argument.value;
      const expanded = located(instruction.lines, () => expand(fallback, { variables: values, escape }));
      value = expanded.text;
      [...expanded.used]
        .filter((used) => !expanded.unset.has(used))
        .forEach((used) => dependencies.add(used));
      // One that is made of itself stands on what the one before was made of.
      if (dependencies.has(name)) {
        declared.get(name)?.dependencies.forEach((used) => dependencies.add(used));
      }
    }
    if (value !== undefined) {
      values.set(name, value);
    }
    declared.set(name, { argument, instruction, value, dependencies });
  }
  return { values, declared };
}

/** `TARGETARCH` and its like. */
function automaticArgs(
  { buildPlatform, targetPlatform = buildPlatform }: Pick<BuildOptions, 'buildPlatform' | 'targetPlatform'>,
  target: string,
  given: ReadonlyMap<string, string>,
): Map<string, string> {
  const all = new Map<string, string>();
  const add = (prefix: string, platform: Platform): void => {
    all.set(`${prefix}PLATFORM`, formatPlatform(platform));
    all.set(`${prefix}OS`, platform.os);
    all.set(`${prefix}OSVERSION`, '');
    all.set(`${prefix}ARCH`, platform.architecture);
    all.set(`${prefix}VARIANT`, platform.variant ?? '');
  };
  add('BUILD', buildPlatform);
  add('TARGET', targetPlatform);
  all.set('TARGETSTAGE', target);
  return new Map([...all].map(([name, value]) => [name, given.get(name) ?? value]));
}
