import { openTargets } from '../../../test/support/cluster/open-targets.ts';
import { sleep, until } from '../../../test/support/engine/http.ts';
import { startTargets } from './target-process.ts';

/** Share of a core that may be spent, of the issue. */
const SHARE_MAX = 0.1;
const AT_ONCE = 100;

/** Checks targets every five seconds and tells what that takes of a core. */
export async function measureChecks(count: number, seconds: number): Promise<string[]> {
  using targets = await startTargets(count);
  await using open = await openTargets();
  const config = { healthCheck: { healthCheckIntervalSeconds: 5, path: '/live' } };
  const { id } = await open.ask('createTargetGroup', { body: { name: 'bench', type: 'IP', config } });
  const params = { group: String(id) };
  await until('the group is active', async () => {
    const { status } = await open.ask('getTargetGroup', { params });
    return status === 'ACTIVE';
  });
  for (let from = 0; from < count; from += AT_ONCE) {
    const some = targets.ports.slice(from, from + AT_ONCE).map((port) => ({ id: '127.0.0.1', port }));
    await open.ask('registerTargets', { params, body: { targets: some } });
  }
  await open.targets.start();
  await until('all are healthy', () => open.news.length === count);
  // The first round is written down; what follows is what checking costs for good.
  await sleep(6_000);
  const before = process.cpuUsage();
  const start = performance.now();
  await sleep(seconds * 1000);
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1000 / (performance.now() - start);
  const wrong = open.news.filter(({ health }) => health.status !== 'HEALTHY').length;
  const verdict = share <= SHARE_MAX && wrong === 0 ? 'reached' : 'MISSED';
  return [
    `${count} targets checked every 5 s for ${seconds} s: ${(share * 100).toFixed(1)} % of a core ` +
      `(at most ${SHARE_MAX * 100} %: ${verdict}), ${wrong} wrongly unhealthy`,
  ];
}
