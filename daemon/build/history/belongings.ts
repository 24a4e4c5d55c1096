import type { HistoryBlob, HistoryRecord, HistoryResult } from '../../../api/types/build/history.ts';
import type { TraceParent } from '../../../api/types/build/ports.ts';
import { makeBlob, type NewBlob } from './blobs.ts';
import { lastVertices } from './counts.ts';
import { frameLog, LOG_TYPE } from './log.ts';
import type { BuildEnd, HistoryCodec } from './ports.ts';
import { madeBy } from '../attest/attestations.ts';
import { provenanceOf, USUAL_PREDICATE, USUAL_PROVENANCE } from '../attest/provenance.ts';
import { PREDICATE_ANNOTATION, STATEMENT_MEDIA_TYPE } from '../../../storage/image-archives/statement.ts';
import { shownAttributes } from './shown-attributes.ts';
import { traceOf, TRACE_TYPE } from './trace.ts';

export interface BelongingsDeps {
  codec: HistoryCodec;
  /** Of this host. */
  platform: string;
  version: string;
}

const ERROR_TYPE = 'application/vnd.googeapis.google.rpc.status+proto';

/** Log, error, trace and provenance of a build that has ended, and what its record says of them. */
export async function makeBelongings(
  { codec, platform, version }: BelongingsDeps,
  { record, parent }: { record: HistoryRecord & { completedNano: bigint }; parent: TraceParent | undefined },
  { updates, images, asked, error }: BuildEnd,
): Promise<{ facts: Partial<HistoryRecord>; blobs: NewBlob[] }> {
  const log = await makeBlob(
    frameLog(updates, (update) => codec.update(update)),
    LOG_TYPE,
  );
  const status = error === undefined ? undefined : codec.error(error);
  const details = status && (await makeBlob(status.bytes, ERROR_TYPE));
  const traced = { ...record, parent, version, error: status?.message ?? '' };
  const trace = await makeBlob(traceOf(traced, lastVertices(updates)), TRACE_TYPE);
  const proven: { platform: string; made: NewBlob }[] = [];
  for (const image of error === undefined ? images : []) {
    const request = asked && { frontend: asked.frontend, attributes: shownAttributes(asked.options) };
    const facts = { ...record, ...request, platform, sources: image.sources, made: madeBy(image.recipe) };
    const bytes = provenanceOf(facts, USUAL_PROVENANCE);
    const made = await makeBlob(bytes, STATEMENT_MEDIA_TYPE, { [PREDICATE_ANNOTATION]: USUAL_PREDICATE });
    proven.push({ platform: image.platform, made });
  }
  const [only, ...others] = proven;
  const results =
    only !== undefined && others.length === 0
      ? { result: resultOf(only.made.blob) }
      : { results: Object.fromEntries(proven.map((one) => [one.platform, resultOf(one.made.blob)])) };
  return {
    facts: {
      log: log.blob,
      trace: trace.blob,
      ...(status && { error: { code: status.code, message: status.message } }),
      ...(details && { errorDetails: details.blob }),
      ...results,
    },
    blobs: [log, trace, ...(details ? [details] : []), ...proven.map(({ made }) => made)],
  };
}

function resultOf(blob: HistoryBlob): HistoryResult {
  return { attestations: [blob] };
}
