/** Entry of a layer worker thread: takes jobs from layer-workers.ts, one at a time. */
import { parentPort } from 'node:worker_threads';
import { invariant } from '../../../daemon/base/errors.ts';
import { runArchiveJob } from '../../files/jobs.ts';
import { applyLayer } from '../apply.ts';
import { composeLayer } from '../compose/compose.ts';
import { help, Helper } from '../compose/helper.ts';
import { packLayer } from '../pack.ts';
import { replayLayer } from '../replay.ts';
import {
  SharedControl,
  toFailure,
  unpackRequest,
  type LayerJob,
  type LayerReply,
} from './worker-protocol.ts';

const port = parentPort;
invariant(port !== null, 'layer-worker.ts runs in a worker thread only');

function reply(message: LayerReply, transfer: ArrayBuffer[] = []): void {
  port?.postMessage(message, transfer);
}

async function run(job: LayerJob): Promise<LayerReply> {
  const control = new SharedControl(job.control);
  if (job.kind === 'apply') {
    return { kind: 'applied', layer: await applyLayer(job.request, control) };
  }
  if (job.kind === 'compose') {
    using helper = job.helper && new Helper(job.helper);
    return { kind: 'composed', composed: await composeLayer(unpackRequest(job.request), control, helper) };
  }
  if (job.kind === 'help') {
    await help(job.port, control);
    return { kind: 'helped' };
  }
  if (job.kind === 'pack') {
    return { kind: 'packed', packed: packLayer(job.request, control) };
  }
  const emit = (chunk: Buffer): boolean => {
    if (!control.waitForGrant()) {
      return false;
    }
    // Chunks are allocated one by one (allocUnsafeSlow), so their memory can change hands.
    const memory = chunk.buffer as ArrayBuffer;
    reply({ kind: 'chunk', chunk: new Uint8Array(memory, chunk.byteOffset, chunk.length) }, [memory]);
    return true;
  };
  if (job.kind === 'archive') {
    const isCanceled = (): boolean => control.isCanceled();
    return { kind: 'archived', result: runArchiveJob(job.job, { isCanceled, emit }) };
  }
  replayLayer(job.directory, job.diffId, emit);
  return { kind: 'replayed' };
}

port.on('message', (job: LayerJob) => {
  run(job).then(reply, (error: unknown) => reply(toFailure(error)));
});
