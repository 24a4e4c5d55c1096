import { appendFileSync, readFileSync } from 'node:fs';
import { EngineError } from './errors.ts';

/**
 * Named places where a test can make the engine fail or die. One stands at every step that persists or calls out.
 * They cost one Map look-up when nothing is armed.
 *
 * BERTH_FAILPOINTS   `name=action[@nth][;name=action...]`, action one of
 *                    `sigkill`        the daemon dies at once, as in a power cut of the process
 *                    `error(TEXT)`    throws an internal EngineError
 *                    `errno(ENOSPC)`  throws an error that carries this errno code
 *                    `delay(MS)`      blocks the thread
 *                    `hold`           blocks the thread until BERTH_FAILPOINT_FILE holds something else
 *                    `@nth` (from 1) acts on that call only; without it on every call.
 * BERTH_FAILPOINT_FILE   a file that holds the same and is read at each passing; calls are counted anew when it has
 *                    changed. So one daemon serves many attempts.
 * BERTH_FAILPOINT_TRACE  a file to which every name passed is appended: how tests enumerate the failpoints of a verb.
 */
type Action =
  | { kind: 'sigkill' }
  | { kind: 'error'; text: string }
  | { kind: 'errno'; code: string }
  | { kind: 'delay'; ms: number }
  | { kind: 'hold' };

/** How often a thread that is held looks whether it may go on. */
const HOLD_POLL_MS = 5;

interface Armed {
  action: Action;
  nth: number | undefined;
  calls: number;
}

let armed = parse(process.env['BERTH_FAILPOINTS'] ?? '');
const armFile = process.env['BERTH_FAILPOINT_FILE'];
let armedText = '';
const traceFile = process.env['BERTH_FAILPOINT_TRACE'];

/** Passes, unless a test armed this name. Names are `<area>.<verb>.<step>`, unique in the source. */
export function failpoint(name: string): void {
  if (traceFile !== undefined) {
    appendFileSync(traceFile, `${name}\n`);
  }
  if (armFile !== undefined) {
    arm(readFileSync(armFile, 'utf8'));
  }
  const point = armed.get(name);
  if (point === undefined) {
    return;
  }
  point.calls += 1;
  if (point.nth === undefined || point.nth === point.calls) {
    act(name, point.action);
  }
}

function arm(text: string): void {
  if (text !== armedText) {
    armedText = text;
    armed = parse(text);
  }
}

function act(name: string, action: Action): void {
  switch (action.kind) {
    case 'sigkill':
      process.kill(process.pid, 'SIGKILL');
      // The signal is delivered on return to user mode; block so that not one more line of ours runs.
      pause();
      return;
    case 'error':
      throw new EngineError('internal', `failpoint ${name}: ${action.text}`);
    case 'errno':
      throw Object.assign(new Error(`${action.code}: failpoint ${name}`), { code: action.code });
    case 'delay':
      pause(action.ms);
      return;
    case 'hold':
      while (isArmedAsBefore()) {
        pause(HOLD_POLL_MS);
      }
      return;
  }
}

function isArmedAsBefore(): boolean {
  return armFile !== undefined && readFileSync(armFile, 'utf8') === armedText;
}

/** Blocks the thread, for ever without an argument. */
function pause(ms?: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function parse(text: string): Map<string, Armed> {
  const points = new Map<string, Armed>();
  for (const item of text.split(';').filter((part) => part !== '')) {
    const match = /^([\w.-]+)=(sigkill|error|errno|delay|hold)(?:\(([^)]*)\))?(?:@(\d+))?$/.exec(item);
    if (!match) {
      throw new EngineError('invalid_argument', `BERTH_FAILPOINTS: cannot read "${item}"`);
    }
    const [, name, kind, argument = '', nth] = match;
    points.set(name!, {
      action: toAction(kind!, argument),
      nth: nth === undefined ? undefined : Number(nth),
      calls: 0,
    });
  }
  return points;
}

function toAction(kind: string, argument: string): Action {
  switch (kind) {
    case 'error':
      return { kind, text: argument };
    case 'errno':
      return { kind, code: argument };
    case 'delay':
      return { kind, ms: Number(argument) };
    case 'hold':
      return { kind };
    default:
      return { kind: 'sigkill' };
  }
}
