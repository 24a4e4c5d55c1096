import type { Lines } from '../../../base/dockerfile/instruction.ts';
import type { Linter } from './linter.ts';
import { RULES } from './rules.ts';

const SECRET = /(?:_|^)(?:apikey|auth|credentials?|key|password|pword|passwd|secret|token)(?:_|$)/i;
const HARMLESS = /(?:_|^)(?:public|file|version)(?:_|$)/i;

/** A name that says that its value is a secret: it would stay in the image. */
export function warnOfSecret(
  { step, linter }: { step: { lines: Lines }; linter: Linter },
  instruction: 'ARG' | 'ENV',
  name: string,
): void {
  if (SECRET.test(name) && !HARMLESS.test(name)) {
    const said = JSON.stringify(name);
    const detail = `Do not use ARG or ENV instructions for sensitive data (${instruction} ${said})`;
    linter.warn(RULES.secretsUsedInArgOrEnv, step.lines, detail);
  }
}
