import { invalidArgument } from '../../daemon/base/errors.ts';

/** Changes the bits of a mode; directories tell `X` what to do. */
export type ModeChange = (mode: number, isDirectory: boolean) => number;

const CLAUSE = /^([ugoa]*)((?:[-+=](?:[rwxXst]*|[ugo]))+)$/;
const BITS: Readonly<Record<string, number>> = { r: 0o444, w: 0o222, x: 0o111 };
const WHO: Readonly<Record<string, number>> = { u: 0o4700, g: 0o2070, o: 0o1007, a: 0o7777 };

/** A mode of chmod(1), octal or symbolic. Throws invalid_argument for anything else. Pure. */
export function parseChmod(text: string): ModeChange {
  if (/^[0-7]{1,5}$/.test(text)) {
    const mode = Number.parseInt(text, 8) % 0o10000;
    return () => mode;
  }
  const changes = text.split(',').map((clause) => parseClause(clause, text));
  return (mode, isDirectory) => changes.reduce((now, change) => change(now, isDirectory), mode);
}

function parseClause(clause: string, text: string): ModeChange {
  const [, who = '', actions = ''] = CLAUSE.exec(clause) ?? [];
  if (actions === '') {
    throw invalidArgument(`invalid chmod parameter: ${text}`);
  }
  const mask = (who || 'a').split('').reduce((bits, letter) => bits | (WHO[letter] ?? 0), 0);
  const steps = actions.match(/[-+=][^-+=]*/g) ?? [];
  return (mode, isDirectory) =>
    steps.reduce((now, step) => {
      const bits = bitsOf(step.slice(1), now, isDirectory) & mask;
      const action = step.slice(0, 1);
      if (action === '+') {
        return now | bits;
      }
      return action === '-' ? now & ~bits : (now & ~(mask & 0o777)) | bits;
    }, mode);
}

function bitsOf(letters: string, mode: number, isDirectory: boolean): number {
  let bits = 0;
  for (const letter of letters) {
    if (letter === 'X') {
      bits |= isDirectory || (mode & 0o111) !== 0 ? 0o111 : 0;
    } else if (letter === 's') {
      bits |= 0o6000;
    } else if (letter === 't') {
      bits |= 0o1000;
    } else if (letter === 'u' || letter === 'g' || letter === 'o') {
      const triple = (mode >> { u: 6, g: 3, o: 0 }[letter]) & 7;
      bits |= triple * 0o111;
    } else {
      bits |= BITS[letter] ?? 0;
    }
  }
  return bits;
}
