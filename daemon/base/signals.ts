import { constants } from 'node:os';
import { invalidArgument } from './errors.ts';

/** Of real-time signals only the bounds have names of their own; the others count from them (signal(7)). */
const REALTIME_MIN = 34;
const REALTIME_MAX = 64;

const numbers = new Map<string, number>(
  Object.entries(constants.signals).map(([name, number]) => [name.slice('SIG'.length), number]),
);
numbers.set('CLD', constants.signals.SIGCHLD);
numbers.set('RTMIN', REALTIME_MIN);
numbers.set('RTMAX', REALTIME_MAX);

export const SIGKILL = constants.signals.SIGKILL;

/** Number of a signal given as `TERM`, `sigterm`, `15` or `RTMIN+3`. Throws invalid_argument. */
export function parseSignal(text: string): number {
  if (/^\d+$/.test(text)) {
    const number = Number(text);
    if (number >= 1 && number <= REALTIME_MAX) {
      return number;
    }
    throw invalidSignal(text);
  }
  const name = text.toUpperCase().replace(/^SIG/, '');
  const known = numbers.get(name);
  if (known !== undefined) {
    return known;
  }
  const realtime = /^(?:RTMIN\+(\d+)|RTMAX-(\d+))$/.exec(name);
  const offset = Number(realtime?.[1] ?? realtime?.[2] ?? Number.NaN);
  if (!realtime || offset > REALTIME_MAX - REALTIME_MIN) {
    throw invalidSignal(text);
  }
  return realtime[1] === undefined ? REALTIME_MAX - offset : REALTIME_MIN + offset;
}

function invalidSignal(text: string): Error {
  return invalidArgument(`Invalid signal: ${text}`, { details: { signal: text } });
}
