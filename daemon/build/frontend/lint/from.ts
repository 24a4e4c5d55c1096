import { formatPlatform, parsePlatform } from '../../../../storage/image/platform.ts';
import type { Expansion } from '../../../base/dockerfile/words.ts';
import { closest } from '../../../base/dockerfile/closest.ts';
import type { Lines } from '../../../base/dockerfile/instruction.ts';
import type { Linter } from './linter.ts';
import { RULES } from './rules.ts';

interface From {
  base: string;
  platform: string;
  name: string;
  from: { lines: Lines };
}

interface Known {
  globals: { values: ReadonlyMap<string, string>; declared: ReadonlyMap<string, unknown> };
}

/** Arguments of FROM that no ARG before the first FROM declares. */
export function warnOfBase(known: Known, linter: Linter, { from }: From, said: Expansion): void {
  for (const [name, hint] of undeclared(known, said)) {
    linter.warn(RULES.undefinedArgInFrom, from.lines, `FROM argument '${name}' is not declared${hint}`);
  }
}

/** ` (did you mean NAME?)` for the end of an error, where an undeclared argument may be its cause; `''` else. Pure. */
export function hintOfArguments(known: Known, said: Expansion): string {
  return [...undeclared(known, said).values()].find((hint) => hint !== '') ?? '';
}

/** By the name: a hint at what was meant, `''` where nothing is like it. */
function undeclared({ globals }: Known, { unset }: Expansion): Map<string, string> {
  const known = [...new Set([...globals.values.keys(), ...globals.declared.keys()])];
  return new Map(
    [...unset]
      .filter((name) => !known.includes(name))
      .map((name) => {
        const meant = closest(name, known);
        return [name, meant === undefined ? '' : ` (did you mean ${meant}?)`];
      }),
  );
}

/** `--platform` that says what is so anyway, or the same on every machine. */
export function warnOfPlatform(known: Known, linter: Linter, from: From, said: Expansion): void {
  warnOfBase(known, linter, from, said);
  const { used, unset, text } = said;
  if (
    used.size === 1 &&
    unset.size === 0 &&
    used.has('TARGETPLATFORM') &&
    text === known.globals.values.get('TARGETPLATFORM')
  ) {
    const begin = `Setting platform to predefined ${from.platform} in FROM`;
    const detail = `${begin} is redundant as this is the default behavior`;
    linter.warn(RULES.redundantTargetPlatform, from.from.lines, detail);
  }
  if (used.size === 0 && !isNamedAfter(from.name, text)) {
    const detail = `FROM --platform flag should not use constant value ${JSON.stringify(text)}`;
    linter.warn(RULES.fromPlatformFlagConstDisallowed, from.from.lines, detail);
  }
}

function isNamedAfter(stage: string, platform: string): boolean {
  try {
    const { os, architecture } = parsePlatform(platform, '', { anySystem: true });
    return stage.includes(os) || stage.includes(architecture);
  } catch {
    // It is refused where it is read.
    return true;
  }
}

/** An image that is for other machines than the build. */
export function warnOfImagePlatform(
  linter: Linter,
  { name, lines }: { name: string; lines: Lines },
  expected: { os: string; architecture: string; variant?: string },
  actual: { os: string; architecture: string; variant: string },
): void {
  if (expected.os !== actual.os || expected.architecture !== actual.architecture) {
    const { variant, ...rest } = actual;
    const is = formatPlatform({ ...rest, ...(variant !== '' && { variant }) });
    const detail =
      `Base image ${name} was pulled with platform ${JSON.stringify(is)}, expected ` +
      `${JSON.stringify(formatPlatform(expected))} for current build`;
    linter.warn(RULES.invalidBaseImagePlatform, lines, detail);
  }
}
