import { ATTRIBUTE_OPTIONS, extraAttributes } from './attributes.ts';
import { AWSLOGS_OPTIONS, openAwsLogs, parseAwsLogs } from './aws/awslogs.ts';
import { parseBool } from '../../daemon/base/go/values.ts';
import { checkOptions } from './common-options.ts';
import type { LogOptions } from './common-options.ts';
import { FLUENTD_OPTIONS, openFluentd, parseFluentd } from './fluentd.ts';
import { GELF_OPTIONS, openGelf, parseGelf } from './gelf.ts';
import { openJournald } from './journald.ts';
import type { LoggedContainer } from './logged-container.ts';
import type { SinkTerms } from './sink.ts';
import { openSplunk, parseSplunk, SPLUNK_OPTIONS } from './splunk.ts';
import { openSyslog, parseSyslog, SYSLOG_OPTIONS } from './syslog.ts';
import { checkTag } from './tag.ts';

/** Every log driver there is. */
export const LOG_DRIVERS = [
  'awslogs',
  'fluentd',
  'gelf',
  'journald',
  'json-file',
  'local',
  'none',
  'splunk',
  'syslog',
] as const;
export type LogDriverName = (typeof LOG_DRIVERS)[number];

/** What a driver takes and does. Without `open` its output stays in files of this host. */
interface Driver {
  /** Besides those that all take. */
  options: ReadonlySet<string>;
  /** Checks their values. Throws invalid_argument. */
  check?(options: LogOptions): unknown;
  open?(container: LoggedContainer, options: LogOptions): SinkTerms;
}

const FILE_OPTIONS = ['max-size', 'max-file', 'compress'];
const shared = (...own: string[]): ReadonlySet<string> => new Set([...own, ...ATTRIBUTE_OPTIONS, 'tag']);

const DRIVERS: Readonly<Record<LogDriverName, Driver>> = {
  awslogs: { options: new Set([...AWSLOGS_OPTIONS, 'tag']), check: parseAwsLogs, open: openAwsLogs },
  fluentd: { options: shared(...FLUENTD_OPTIONS), check: parseFluentd, open: openFluentd },
  gelf: { options: shared(...GELF_OPTIONS), check: parseGelf, open: openGelf },
  journald: { options: shared(), open: (container, options) => openJournald(container, options) },
  'json-file': { options: shared(...FILE_OPTIONS) },
  local: { options: new Set(FILE_OPTIONS) },
  none: { options: new Set() },
  splunk: { options: shared(...SPLUNK_OPTIONS), check: parseSplunk, open: openSplunk },
  syslog: { options: shared(...SYSLOG_OPTIONS), check: parseSyslog, open: openSyslog },
};

export function isLogDriver(name: string): name is LogDriverName {
  return LOG_DRIVERS.some((driver) => driver === name);
}

/**
 * Checks the options of a driver. Values of `max-size` and the like are checked where the files are kept. Throws
 * invalid_argument.
 */
export function checkLogOptions(name: LogDriverName, options: LogOptions): void {
  if (name === 'none') {
    // As dockerd: without a log the options may be anything.
    return;
  }
  const driver = DRIVERS[name];
  checkOptions(name, options, driver.options);
  checkTag(options['tag']);
  extraAttributes({ labels: {}, env: [] }, options);
  driver.check?.(options);
}

/** The way to the receiver; undefined for drivers without one. Throws for files of options that cannot be read. */
export function openSink(
  name: LogDriverName,
  container: LoggedContainer,
  options: LogOptions,
): SinkTerms | undefined {
  return DRIVERS[name].open?.(container, options);
}

/** Whether `logs` shows what this driver was given: from files here, also what the journal has. */
export function isReadable(name: LogDriverName, options: LogOptions): boolean {
  const isCached = !parseBool(options['cache-disabled'] ?? 'false');
  return name === 'json-file' || name === 'local' || (name === 'journald' && isCached);
}
