import path from 'node:path';
import { expect } from 'vitest';
import type { TestSwarm } from './test-swarm.ts';

/** Also for tests themselves, with python3. */
export const PROGRAM = path.join(import.meta.dirname, 'pages.py');
/** The machine's own programs: a static busybox has no name services. */
const SOURCES = ['/usr', '/lib', '/lib64', PROGRAM];

/** Options of `service create` for tasks that can run `pages`. */
export const SERVICE_MOUNTS = SOURCES.flatMap((source) => [
  '--mount',
  `type=bind,source=${source},target=${source === PROGRAM ? '/pages.py' : source},readonly`,
]);

/** Options of `docker run` for containers that can run `pages`. */
export const RUN_MOUNTS = SOURCES.flatMap((source) => [
  '--volume',
  `${source}:${source === PROGRAM ? '/pages.py' : source}:ro`,
]);

/** The command of a container: see the words of `pages.py`. */
export function pages(...words: string[]): string[] {
  return ['/usr/bin/python3', '/pages.py', ...words];
}

/** A task's container on one of the nodes. */
export interface FoundTask {
  node: number;
  container: string;
}

/** Containers of a service's tasks, on all nodes. */
export async function tasksOf(swarm: TestSwarm, service: string): Promise<FoundTask[]> {
  const found = await Promise.all(
    swarm.nodes.map(async (_, index) => {
      const label = `label=com.docker.swarm.service.name=${service}`;
      const ids = await swarm.must(index + 1, 'ps', '--quiet', '--filter', label);
      return ids
        .split('\n')
        .filter((id) => id !== '')
        .map((container) => ({ node: index + 1, container }));
    }),
  );
  return found.flat();
}

/** What `pages.py` prints in a container, by lines. */
export async function said(
  swarm: TestSwarm,
  { node, container }: FoundTask,
  ...words: string[]
): Promise<string[]> {
  const out = await swarm.must(node, 'exec', container, ...pages(...words));
  return out.split('\n');
}

/** How often each answer came, by its first word: the host that answered. */
export function byHost(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) {
    expect(line).not.toMatch(/^failed/);
    const [host = ''] = line.split(' ');
    counts.set(host, (counts.get(host) ?? 0) + 1);
  }
  return counts;
}

/** A task is none before it answers. */
export const HEALTH = [
  '--health-cmd',
  'wget -q -O /dev/null http://127.0.0.1:80/',
  '--health-interval',
  '200ms',
  '--health-timeout',
  '5s',
];
