import { execFile } from 'node:child_process';
import { expect } from 'vitest';
import type { TestDaemon } from '../engine/daemon.ts';

/** What a program said. */
export interface Said {
  code: number;
  out: string;
  err: string;
}

/** Runs a client of BuildKit's protocol, or a program beside it, against a daemon. Never rejects. */
export function runClient(
  { paths }: TestDaemon,
  [file = '', ...args]: readonly string[],
  { input, env = {} }: { input?: Buffer | string; env?: Readonly<Record<string, string>> } = {},
): Promise<Said> {
  return new Promise((resolve) => {
    const whole = {
      PATH: process.env['PATH'] ?? '',
      HOME: paths.root,
      DOCKER_HOST: `unix://${paths.socket}`,
      DOCKER_BUILDKIT: '1',
      ...env,
    };
    const child = execFile(file, args, { env: whole, timeout: 120_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : (child.exitCode ?? 1), out, err });
    });
    child.stdin?.end(input);
  });
}

/** Fails with what it said where it did not end well. */
export async function must(said: Promise<Said>): Promise<Said> {
  const all = await said;
  expect({ code: all.code, err: all.code === 0 ? '' : all.err }).toEqual({ code: 0, err: '' });
  return all;
}
