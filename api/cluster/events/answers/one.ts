import type { StoredEvent } from '../../../types/cluster/events.ts';
import type { ClusterResult, KnownRequest } from '../../family.ts';
import type { EventVersion } from '../version.ts';
import { formOf } from './accept.ts';
import { isPretty, prettied } from './pretty.ts';
import { includeObject, tableOfOne } from './table.ts';

/** One event, in the form that the client asks for. `warnings`: what is wrong with what it sent. */
export function answerOne(
  { query, req }: KnownRequest,
  event: StoredEvent,
  {
    version,
    status = 200,
    warnings = [],
  }: { version: EventVersion; status?: number; warnings?: readonly string[] },
): ClusterResult {
  const text =
    formOf(req.headers.accept) === 'table'
      ? tableOfOne(event, version, { include: includeObject(query), nowMs: Date.now(), hasColumns: true })
      : version.text(event);
  return {
    kind: 'answer',
    status,
    body: isPretty(query) ? prettied(text) : text,
    headers: {
      ...(warnings.length > 0 && {
        Warning: warnings.map(
          (warning) => `299 - ${JSON.stringify(warning.replaceAll(/[^\x20-\x7e]/g, '?'))}`,
        ),
      }),
    },
  };
}
