import { EngineError } from '../../daemon/base/errors.ts';

/** What runc, or another runtime, was asked to do. */
export type RuncOperation = 'create' | 'exec';

const MOUNT_HINT =
  ': Are you trying to mount a directory onto a file (or vice-versa)? Check if the specified host path exists and ' +
  'is the expected type';

/**
 * How runc's texts map to exit codes, first match wins; as the shell counts: 126 cannot execute, 127 no such command.
 * Everything else is 128: the runtime's own failure (moby daemon/errors.go, translateContainerdStartErr).
 */
const RULES: readonly { pattern: RegExp; exitCode: number; hint?: string }[] = [
  {
    pattern: /exec: ".*": (executable file not found|(stat .*: )?no such file or directory)/s,
    exitCode: 127,
  },
  // crun.
  { pattern: /executable file [`']?.*[`']? not found/i, exitCode: 127 },
  { pattern: /permission denied|exec: ".*": is a directory|exec format error/is, exitCode: 126 },
  { pattern: /not a directory/, exitCode: 127, hint: MOUNT_HINT },
  // A sysctl that this kernel has not, or that cannot have this value.
  {
    pattern:
      /(?:open|write) \/proc\/sys\/\S+: (?:no such file or directory|invalid argument|numerical result)/,
    exitCode: 128,
  },
];

/** Texts of an operation on a container that has ended or is about to. */
const NOT_RUNNING =
  /container (does not exist|is not running|.* not running)|cannot exec in a stopped container/;

/**
 * The engine's error for what runc printed: the wording that Docker's clients know, `details.exitCode`, and whether it
 * was the command's fault (invalid_argument), the container's state (conflict) or ours (internal).
 */
export function runcFailure(operation: RuncOperation, stderr: string): EngineError {
  const text = lastMessage(stderr);
  const rule = RULES.find(({ pattern }) => pattern.test(text));
  const message = `OCI runtime ${operation} failed: ${text}: unknown${rule?.hint ?? ''}`;
  if (rule) {
    return new EngineError('invalid_argument', message, { details: { exitCode: rule.exitCode } });
  }
  const code = operation === 'exec' && NOT_RUNNING.test(text) ? 'conflict' : 'internal';
  return new EngineError(code, message, { details: { exitCode: 128 } });
}

/** The text; of one that has log lines (`time="..." level=error msg="..."`, as runc's child writes), the last error. */
function lastMessage(stderr: string): string {
  const lines = [...stderr.matchAll(/level=(?:error|fatal) msg=("(?:[^"\\]|\\.)*"|\S+)/g)];
  const quoted = lines.at(-1)?.[1];
  if (quoted === undefined) {
    return stderr.trim() === '' ? 'the runtime gave no reason' : stderr.trim();
  }
  try {
    // logrus quotes as Go does; that differs from JSON only for control characters (\x1b, \a).
    const text: unknown = JSON.parse(quoted.replaceAll(/\\x([0-9a-f]{2})/g, String.raw`\u00$1`));
    return typeof text === 'string' ? text : quoted;
  } catch {
    // Unquoted, or an escape that only Go knows: still better shown as it is than not at all.
    return quoted;
  }
}
