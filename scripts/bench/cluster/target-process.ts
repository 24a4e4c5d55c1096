import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface TargetProcess extends Disposable {
  ports: readonly number[];
}

/** Starts so many targets in another process, whose processor time is not ours. */
export async function startTargets(count: number): Promise<TargetProcess> {
  const script = join(import.meta.dirname, 'target-server.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script, String(count)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line]: unknown[] = await once(createInterface(child.stdout), 'line');
  return {
    ports: JSON.parse(String(line)),
    [Symbol.dispose]: () => {
      child.stdin.end();
    },
  };
}
