import { spawn } from 'node:child_process';
import path from 'node:path';
import { repositoryRoot } from './sources.ts';

/** How a program ended, with everything it said. */
export interface StepResult {
  name: string;
  ok: boolean;
  output: string;
  seconds: number;
}

export interface Step {
  name: string;
  argv: readonly [string, ...string[]];
}

/** Runs a program of node_modules/.bin (or of the PATH) in the repository; never throws for a failing one. */
export function runStep(step: Step): Promise<StepResult> {
  const [file, ...args] = step.argv;
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd: repositoryRoot,
      env: { ...process.env, PATH: binPath(), NO_COLOR: '1', FORCE_COLOR: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output += chunk.toString('utf8');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const finish = (ok: boolean): void =>
      resolve({ name: step.name, ok, output, seconds: (performance.now() - started) / 1000 });
    child.once('error', (error) => {
      output += error.message;
      finish(false);
    });
    child.once('close', (code) => finish(code === 0));
  });
}

/** The PATH with the programs of this repository's packages in front. */
export function binPath(): string {
  return `${path.join(repositoryRoot, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`;
}

/** Runs the steps, at most `width` at a time, and reports each as it ends. */
export async function runSteps(
  steps: readonly Step[],
  width: number,
  onEnd: (result: StepResult) => void,
): Promise<StepResult[]> {
  const waiting = [...steps];
  const results: StepResult[] = [];
  const lane = async (): Promise<void> => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const result = await runStep(step);
      results.push(result);
      onEnd(result);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}
