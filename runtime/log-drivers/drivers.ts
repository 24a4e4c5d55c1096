import { ATTRIBUTE_OPTIONS, extraAttributes } from './attributes.ts';
import { checkOptions } from './common-options.ts';
import type { LogOptions } from './common-options.ts';
import { checkTag } from './tag.ts';

/** Every log driver there is, in the order `docker info` lists them. */
export const LOG_DRIVERS = ['json-file', 'local', 'none'] as const;
export type LogDriverName = (typeof LOG_DRIVERS)[number];

const FILE_OPTIONS = ['max-size', 'max-file', 'compress'];
/** Options of each driver besides those that all take. */
const OWN: Readonly<Record<Exclude<LogDriverName, 'none'>, ReadonlySet<string>>> = {
  'json-file': new Set([...FILE_OPTIONS, ...ATTRIBUTE_OPTIONS, 'tag']),
  local: new Set(FILE_OPTIONS),
};

export function isLogDriver(name: string): name is LogDriverName {
  return LOG_DRIVERS.some((driver) => driver === name);
}

/** Checks the options of a driver; values of file options are read by who keeps the files. Throws invalid_argument. */
export function checkLogOptions(driver: LogDriverName, options: LogOptions): void {
  if (driver === 'none') {
    return;
  }
  checkOptions(driver, options, OWN[driver]);
  checkTag(options['tag']);
  extraAttributes({ labels: {}, env: [] }, options);
}

/** Whether `logs` shows what this driver keeps. */
export function isReadable(driver: LogDriverName): boolean {
  return driver !== 'none';
}
