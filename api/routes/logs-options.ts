import { invalidArgument } from '../../daemon/base/errors.ts';
import type { Query } from '../query.ts';
import type { LogsOptions } from '../types/requests.ts';
import { defined, wallNano } from './values.ts';

/** Which lines of a log a client asks for. Throws invalid_argument; `noStream` is the text where it asks for none. */
export function logsOptions(query: Query, signal: AbortSignal, noStream: string): LogsOptions {
  const stdout = query.bool('stdout');
  const stderr = query.bool('stderr');
  if (!stdout && !stderr) {
    throw invalidArgument(noStream);
  }
  const now = wallNano();
  return {
    follow: query.bool('follow'),
    stdout,
    stderr,
    timestamps: query.bool('timestamps'),
    details: query.bool('details'),
    ...defined({ since: query.time('since', now), until: query.time('until', now), tail: tail(query) }),
    signal,
  };
}

/** undefined = all, which clients also write as `all` or a negative number. */
function tail(query: Query): number | undefined {
  const lines = query.text('tail') === 'all' ? undefined : query.int('tail');
  return lines === undefined || lines < 0 ? undefined : lines;
}
