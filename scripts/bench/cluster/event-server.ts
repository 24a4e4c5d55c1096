import { statSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { serveCluster } from '../../../test/support/cluster/serve-cluster.ts';
import type { ServerFigures } from './event-process.ts';

/** Serves events over a database of a file, and tells at each message how its loop has fared since the last one. */
const [file = '', max = ''] = process.argv.slice(2);
const RESOLUTION_MS = 1;
const retention = { normalTtlS: 3_600, otherTtlS: 86_400, max: Number(max) };
const all = { namespace: undefined, fieldSelector: '', labelSelector: '', fields: 'events' } as const;

async function serve(): Promise<void> {
  const cluster = await serveCluster({ file, retention });
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  process.on('message', () => {
    const bytes = [file, `${file}-wal`].map((name) => statSync(name).size);
    const figures: ServerFigures = {
      // The histogram has the sampling interval in it.
      delayMs: delay.percentile(99) / 1e6 - RESOLUTION_MS,
      worstMs: delay.max / 1e6 - RESOLUTION_MS,
      events: cluster.events.list(all).items.length,
      bytes: bytes.reduce((sum, size) => sum + size, 0),
    };
    delay.reset();
    process.send?.(figures);
  });
  process.send?.(cluster.port);
}

void serve().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
