import { readFileSync, writeFileSync } from 'node:fs';
import { errnoOf } from '../../daemon/base/errors.ts';
import type { StdinMode } from './launch-request.ts';
import type { RuntimeProgram } from './other-runtimes.ts';

/** What a later daemon must know of how a container was launched. */
export interface LaunchRecord {
  cgroupsPath: string;
  terminal: boolean;
  stdin: StdinMode;
  /** The runtime that has it, whatever the configuration says later; undefined = runc. */
  runtime?: RuntimeProgram;
}

export function writeLaunchRecord(file: string, record: LaunchRecord): void {
  writeFileSync(file, JSON.stringify(record), { mode: 0o600 });
}

/** The record, or undefined when there is none or it was cut off by a crash: then nothing was launched yet. */
export function readLaunchRecord(file: string): LaunchRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  }
  return isLaunchRecord(value) ? value : undefined;
}

function isLaunchRecord(value: unknown): value is LaunchRecord {
  return (
    typeof value === 'object' &&
    value !== null &&
    'cgroupsPath' in value &&
    typeof value.cgroupsPath === 'string' &&
    'terminal' in value &&
    typeof value.terminal === 'boolean' &&
    'stdin' in value &&
    (value.stdin === 'none' || value.stdin === 'once' || value.stdin === 'open') &&
    (!('runtime' in value) || isProgram(value.runtime))
  );
}

function isProgram(value: unknown): value is RuntimeProgram {
  return (
    typeof value === 'object' &&
    value !== null &&
    'path' in value &&
    typeof value.path === 'string' &&
    'args' in value &&
    Array.isArray(value.args)
  );
}
