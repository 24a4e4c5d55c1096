/** Entry of the thread that reads notes: takes work from note-thread.ts, one at a time. */
import { parentPort } from 'node:worker_threads';
import { errorText, invariant } from '../../../base/errors.ts';
import type { NoteThreadMessage } from './note-thread.ts';
import { doNoteWork, type NoteWork } from './work.ts';

const port = parentPort;
invariant(port !== null, 'note-worker.ts runs in a worker thread only');

function answer(message: NoteThreadMessage): void {
  port?.postMessage(message);
}

port.on('message', (work: NoteWork) => {
  try {
    answer({ kind: 'done', result: doNoteWork(work) });
  } catch (error) {
    answer({ kind: 'failed', message: errorText(error) });
  }
});

// The first note pays for the schema and the renderer, not its author.
doNoteWork({ kind: 'read', parts: { metadata: {} } });
doNoteWork({ kind: 'render', text: '' });
answer({ kind: 'ready' });
