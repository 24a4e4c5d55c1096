import type { Instruction, Lines } from '../../../base/dockerfile/instruction.ts';
import type { Dockerfile } from '../../../base/dockerfile/parse.ts';
import type { Linter } from './linter.ts';
import { RULES } from './rules.ts';

const RESERVED = new Set(['context', 'scratch']);

/** One FROM on its own: `words` are its arguments. */
export function lintFrom(instruction: Instruction, words: readonly string[], linter: Linter): void {
  const { word, lines } = instruction;
  const [, as = '', name = ''] = words;
  if (name !== name.toLowerCase()) {
    linter.warn(RULES.stageNameCasing, lines, `Stage name '${name}' should be lowercase`);
  }
  const cased = caseOf(word) === 'lower' ? as.toLowerCase() : as.toUpperCase();
  if (caseOf(word) !== 'mixed' && as !== cased) {
    linter.warn(RULES.fromAsCasing, lines, `'${as}' and '${word}' keywords' casing do not match`);
  }
  if (name !== '') {
    lintDescription(instruction, [name.toLowerCase()], linter);
  }
}

/** What is seen of an instruction on its own. */
export function lintEach({ instructions, emptyContinuations }: Dockerfile, linter: Linter): void {
  for (const line of emptyContinuations) {
    linter.warn(RULES.noEmptyContinuation, { from: line, to: line }, 'Empty continuation line');
  }
  for (const instruction of instructions) {
    const { name, lines, rest } = instruction;
    if (name === 'MAINTAINER') {
      const detail = 'Maintainer instruction is deprecated in favor of using label';
      linter.warn(RULES.maintainerDeprecated, lines, detail);
    } else if (name === 'ARG') {
      const names = rest.split(/\s+/).map((word) => word.replace(/=.*$/s, ''));
      lintDescription(instruction, names, linter);
    }
  }
}

/** What is seen of all instructions together. */
export function lintTogether(
  { instructions }: Dockerfile,
  stages: readonly { name: string; from: Instruction }[],
  linter: Linter,
): void {
  lintStageNames(stages, linter);
  lintCase(instructions.slice(instructions.findIndex(({ name }) => name === 'FROM')), linter);
}

function lintStageNames(stages: readonly { name: string; from: { lines: Lines } }[], linter: Linter): void {
  for (const [at, { name, from }] of stages.entries()) {
    const said = JSON.stringify(name);
    if (RESERVED.has(name)) {
      const detail = `Stage name should not use the same name as reserved stage ${said}`;
      linter.warn(RULES.reservedStageName, from.lines, detail);
    }
    if (name !== '' && stages.findIndex((other) => other.name === name) < at) {
      const detail = `Duplicate stage name ${said}, stage names should be unique`;
      linter.warn(RULES.duplicateStageName, from.lines, detail);
    }
  }
}

/** Words in one case each are counted; all are to be as most are. */
function lintCase(instructions: readonly Instruction[], linter: Linter): void {
  const count = (wanted: string): number => instructions.filter(({ word }) => caseOf(word) === wanted).length;
  const isLower = count('lower') > count('upper');
  for (const { word, lines } of instructions) {
    if (word !== (isLower ? word.toLowerCase() : word.toUpperCase())) {
      const majority = isLower ? 'lowercase' : 'uppercase';
      const detail = `Command '${word}' should match the case of the command majority (${majority})`;
      linter.warn(RULES.consistentInstructionCasing, lines, detail);
    }
  }
}

function caseOf(word: string): 'lower' | 'upper' | 'mixed' {
  return word === word.toLowerCase() ? 'lower' : word === word.toUpperCase() ? 'upper' : 'mixed';
}

function lintDescription(
  { name, comments, lines }: Instruction,
  names: readonly string[],
  linter: Linter,
): void {
  const [said = ''] = comments.at(-1)?.split(' ') ?? [];
  if (comments.length > 0 && !names.includes(said)) {
    const example = names.length > 1 ? '<arg_key>' : (names[0] ?? '');
    const detail = `Comment for ${name} should follow the format: \`# ${example} <description>\``;
    linter.warn(RULES.invalidDefinitionDescription, lines, detail);
  }
}
