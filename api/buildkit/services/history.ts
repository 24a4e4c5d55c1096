import type { HistoryBlob, HistoryEvent, HistoryRecord, HistoryResult } from '../../types/build/history.ts';
import type { HistoryPort } from '../../types/build/history.ts';
import type { Sparse, ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import { empty } from '../proto/common.ts';
import {
  EVENT,
  historyEvent,
  historyRequest,
  updateHistoryRequest,
  type historyRecord,
} from '../proto/history.ts';
import type { RpcMethod } from '../rpc/server.ts';
import { streaming, unary } from './method.ts';
import { timestampOf } from './updates.ts';

/** Clients count how long builds that go on have lasted by our clock. */
const NOW = 'buildkit-current-timestamp';

/** What `Control` has of builds that were, with names of methods. */
export function historyMethods(history: HistoryPort): [string, RpcMethod][] {
  return [
    [
      'ListenBuildHistory',
      streaming(historyRequest, historyEvent, async function* (request, { signal, sendHead }) {
        sendHead({ [NOW]: new Date().toISOString() });
        const { ref, activeOnly: isActiveOnly, earlyExit: endsEarly, filters, limit } = request;
        const question = { ref, isActiveOnly, endsEarly, filters, limit };
        for await (const event of history.listen(question, signal)) {
          yield eventMessage(event);
        }
      }),
    ],
    [
      'UpdateBuildHistory',
      unary(updateHistoryRequest, empty, ({ ref, pinned, delete: isDeleted, finalize }) => {
        if (isDeleted) {
          history.remove(ref);
        } else if (!finalize) {
          history.pin(ref, pinned);
        }
        // A record is whole as soon as it is there: nothing is left to be finalized.
        return Promise.resolve({});
      }),
    ],
  ];
}

function eventMessage(event: HistoryEvent): Sparse<ValueOf<typeof historyEvent>> {
  return event.type === 'deleted'
    ? { type: EVENT.deleted, record: { ref: event.ref } }
    : { type: EVENT[event.type], record: recordMessage(event.record) };
}

function recordMessage(record: HistoryRecord): Sparse<ValueOf<typeof historyRecord>> {
  const { ref, frontend, createdNano, completedNano, error, errorDetails, log, trace, result } = record;
  const { steps, warnings, generation, isPinned } = record;
  return {
    ref,
    frontend,
    frontendAttrs: mapOf(record.attributes),
    exporters: record.exporters.map(({ type, attributes }) => ({ type, attrs: mapOf(attributes) })),
    ...(error && { error: { ...error, details: [] } }),
    createdAt: timestampOf(createdNano),
    ...(completedNano !== undefined && { completedAt: timestampOf(completedNano) }),
    ...(log && { logs: descriptorOf(log) }),
    exporterResponse: mapOf(record.response),
    ...(result && { result: resultOf(result) }),
    results: new Map(Object.entries(record.results).map(([platform, each]) => [platform, resultOf(each)])),
    generation,
    ...(trace && { trace: descriptorOf(trace) }),
    pinned: isPinned,
    numCachedSteps: steps.cached,
    numTotalSteps: steps.total,
    numCompletedSteps: steps.completed,
    ...(errorDetails && { externalError: descriptorOf(errorDetails) }),
    numWarnings: warnings,
  };
}

function resultOf({ attestations }: HistoryResult): { attestations: ReturnType<typeof descriptorOf>[] } {
  return { attestations: attestations.map((each) => descriptorOf(each)) };
}

function descriptorOf({ mediaType, digest, bytes, annotations }: HistoryBlob): {
  mediaType: string;
  digest: string;
  size: number;
  annotations: Map<string, string>;
} {
  return { mediaType, digest, size: bytes, annotations: mapOf(annotations) };
}

function mapOf(texts: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(texts));
}
