import type { HealthConfig } from '../../../api/types/container.ts';
import { formatDuration, parseDuration } from '../../base/go/duration.ts';
import { invalidArgument } from '../../base/errors.ts';

const DURATION_MIN_NANO = 1_000_000;
const DURATION_FLAGS = new Map<string, 'Interval' | 'Timeout' | 'StartPeriod' | 'StartInterval'>([
  ['interval', 'Interval'],
  ['timeout', 'Timeout'],
  ['start-period', 'StartPeriod'],
  ['start-interval', 'StartInterval'],
]);

/**
 * The arguments of a HEALTHCHECK instruction: `NONE`, or flags and `CMD` with a command in JSON (`jsonWords` reads it)
 * or shell form. `where` begins error messages. Throws invalid_argument. Pure.
 */
export function parseHealthcheck(
  text: string,
  where: string,
  jsonWords: (text: string) => string[] | undefined,
): HealthConfig {
  const check: HealthConfig = {};
  let rest = text;
  for (;;) {
    const match = /^--(\S+)(?:\s+|$)/.exec(rest);
    if (match === null) {
      break;
    }
    applyFlag(check, match[1] ?? '', where);
    rest = rest.slice(match[0].length);
  }
  const [, kind = '', command = ''] = /^(\S+)(?:\s+([^]*))?$/.exec(rest) ?? [];
  switch (kind.toUpperCase()) {
    case 'NONE':
      if (command !== '' || Object.keys(check).length > 0) {
        throw invalidArgument(`${where} NONE takes no arguments`);
      }
      return { Test: ['NONE'] };
    case 'CMD': {
      const words = jsonWords(command);
      if (command === '' || words?.length === 0) {
        throw invalidArgument(`${where}: Missing command after HEALTHCHECK CMD`);
      }
      return { Test: words ? ['CMD', ...words] : ['CMD-SHELL', command], ...check };
    }
    default:
      throw invalidArgument(`${where}: Unknown type ${JSON.stringify(kind)} in HEALTHCHECK (try CMD)`);
  }
}

function applyFlag(check: HealthConfig, flag: string, where: string): void {
  const equals = flag.indexOf('=');
  const name = equals < 0 ? flag : flag.slice(0, equals);
  const value = equals < 0 ? '' : flag.slice(equals + 1);
  const field = DURATION_FLAGS.get(name);
  if (field !== undefined) {
    check[field] = duration(name, value, where);
  } else if (name === 'retries') {
    check.Retries = retries(value, where);
  } else {
    throw invalidArgument(`${where}: Unknown flag: ${name}`);
  }
}

function duration(flag: string, value: string, where: string): number {
  const nano = Number(parseDuration(value));
  if (!Number.isSafeInteger(nano)) {
    throw invalidArgument(`${where}: --${flag}: invalid duration ${JSON.stringify(value)}`);
  }
  if (nano !== 0 && nano < DURATION_MIN_NANO) {
    throw invalidArgument(`${where}: --${flag} cannot be less than ${formatDuration(DURATION_MIN_NANO)}`);
  }
  return nano;
}

function retries(value: string, where: string): number {
  if (!/^\d{1,9}$/.test(value) || Number(value) < 1) {
    throw invalidArgument(`${where}: --retries must be at least 1 (not ${value})`);
  }
  return Number(value);
}
