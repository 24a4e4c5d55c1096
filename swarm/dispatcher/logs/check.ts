import { invalidArgument } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { LogsRequest } from '../../protocol/logs.ts';
import type { LogLine } from '../../protocol/session.ts';
import { fieldsOf, textOf } from '../check.ts';

const NANO = /^\d{1,20}$/;

/** The reason in a last value that says why lines are missing; undefined for a line. */
export function failureOf(value: unknown): string | undefined {
  const { error } = fieldsOf(value, 'a line of a log');
  return typeof error === 'string' ? error.slice(0, limits.swarmStatusTextMax) : undefined;
}

/** Throws invalid_argument for what is no line. */
export function lineOf(value: unknown): LogLine {
  const fields = fieldsOf(value, 'a line of a log');
  const { stream, attributes } = fields;
  if (stream !== 'stdout' && stream !== 'stderr') {
    throw invalidArgument('a line of a log is of stdout or stderr');
  }
  const at = textOf(fields, 'at');
  if (!NANO.test(at)) {
    throw invalidArgument('the time of a line is no number of nanoseconds');
  }
  const line: LogLine = { task: textOf(fields, 'task'), stream, at, line: textOf(fields, 'line') };
  if (attributes !== undefined) {
    const pairs = Object.entries(fieldsOf(attributes, 'attributes of a line'));
    line.attributes = Object.fromEntries(pairs.map(([key, text]) => [key, String(text)]));
  }
  return line;
}

/** What another manager asks for. */
export function logsRequestOf(body: unknown): LogsRequest {
  const fields = fieldsOf(body, 'a request for logs');
  const { follow, stdout, stderr, since, until, tail } = fields;
  return {
    services: idsOf(fields, 'services'),
    tasks: idsOf(fields, 'tasks'),
    follow: follow === true,
    stdout: stdout === true,
    stderr: stderr === true,
    ...(typeof since === 'string' && NANO.test(since) ? { since } : {}),
    ...(typeof until === 'string' && NANO.test(until) ? { until } : {}),
    ...(typeof tail === 'number' ? { tail } : {}),
  };
}

function idsOf(fields: Record<string, unknown>, name: string): string[] {
  const list = fields[name];
  if (!Array.isArray(list)) {
    throw invalidArgument(`${name} is no list`);
  }
  return list.filter((id: unknown): id is string => typeof id === 'string');
}
