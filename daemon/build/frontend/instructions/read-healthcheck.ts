import type { HealthConfig } from '../../../../api/types/container.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { parseDuration } from '../../../base/go/duration.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import { commandWords } from './arguments.ts';

const DURATION_MIN_NANO = 1_000_000;
const DURATIONS = [
  ['interval', 'Interval'],
  ['timeout', 'Timeout'],
  ['start-period', 'StartPeriod'],
  ['start-interval', 'StartInterval'],
] as const;

/** HEALTHCHECK. Throws invalid_argument. Pure. */
export function readHealthcheck({ rest, flags }: Instruction): HealthConfig {
  const [, word = '', command = ''] = /^(\S+)(?:\s+([^]*))?$/.exec(rest) ?? [];
  const type = word.toUpperCase();
  if (type === 'NONE') {
    if (command !== '') {
      throw invalidArgument('HEALTHCHECK NONE takes no arguments');
    }
    return { Test: ['NONE'] };
  }
  if (type !== 'CMD') {
    throw invalidArgument(`Unknown type ${JSON.stringify(type)} in HEALTHCHECK (try CMD)`);
  }
  const { words, isJson } = commandWords(command);
  if (command === '' || words.length === 0) {
    throw invalidArgument('Missing command after HEALTHCHECK CMD');
  }
  const check: HealthConfig = { Test: [isJson ? 'CMD' : 'CMD-SHELL', ...words] };
  for (const [name, field] of DURATIONS) {
    const nanos = durationOf(name, flags.find((flag) => flag.name === name)?.value ?? '');
    if (nanos !== 0) {
      check[field] = nanos;
    }
  }
  const retries = flags.find((flag) => flag.name === 'retries')?.value;
  if (retries !== undefined && !/^\d{1,9}$/.test(retries)) {
    throw invalidArgument(`--retries must be a number that is not negative (${retries})`);
  }
  return Number(retries ?? 0) === 0 ? check : { ...check, Retries: Number(retries) };
}

/** In nanoseconds; 0 = as it is by default. */
function durationOf(name: string, value: string): number {
  if (value === '') {
    return 0;
  }
  const nanos = Number(parseDuration(value));
  if (!Number.isSafeInteger(nanos)) {
    throw invalidArgument(`invalid duration ${JSON.stringify(value)} for --${name}`);
  }
  if (nanos !== 0 && nanos < DURATION_MIN_NANO) {
    throw invalidArgument(`Interval ${JSON.stringify(name)} cannot be less than 1ms`);
  }
  return nanos;
}
