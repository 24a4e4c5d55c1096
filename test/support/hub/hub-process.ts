import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { bundledProgram } from '../bundled-program.ts';

export interface Ended<Said> {
  signal: string | null;
  /** What it printed, as JSON; undefined when it was killed before. */
  said: Said | undefined;
}

/** Runs one of the programs beside this file to its end, which may be at a failpoint. */
export async function hubProcess<Said>(
  program: 'deliver-and-die' | 'push-and-die' | 'move-and-die',
  args: readonly string[],
  failpoints = '',
): Promise<Ended<Said>> {
  const script = await bundledProgram(join(import.meta.dirname, `${program}.ts`));
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, BERTH_FAILPOINTS: failpoints },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (_, signal) => {
      // Each program says in its own file what it prints.
      resolve({ signal, said: text === '' ? undefined : (JSON.parse(text) as Said) });
    });
  });
}
