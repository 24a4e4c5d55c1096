import type { Dialect } from './dialect.ts';
import { flagValue, type Instruction } from './instruction.ts';

/** What a FROM says, as it was written, with variables in it. */
export interface From {
  base: string;
  /** `''` = none. */
  platform: string;
  /** Given by AS, in small letters; `''` = none. */
  name: string;
}

const STAGE_NAME = /^[a-z][a-z0-9-_.]*$/;

/** Throws invalid_argument that names the line. Pure. */
export function readFrom(dialect: Dialect, instruction: Instruction): From {
  const { rest, lines } = instruction;
  const words = rest.split(/\s+/);
  const [base = '', as = 'as', written = ''] = words;
  if ((words.length !== 1 && words.length !== 3) || as.toLowerCase() !== 'as') {
    throw dialect.error(lines.from, 'FROM requires either one or three arguments');
  }
  const name = written.toLowerCase();
  if (words.length === 3 && !STAGE_NAME.test(name)) {
    throw dialect.error(
      lines.from,
      `invalid name for build stage: ${JSON.stringify(written)}, name can't start with a number or contain symbols`,
    );
  }
  return { base, platform: flagValue(instruction, 'platform') ?? '', name };
}
