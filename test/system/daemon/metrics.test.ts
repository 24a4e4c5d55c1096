import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ContainerInspect } from '../../../api/types/container.ts';
import type { SystemInfo } from '../../../api/types/system.ts';
import { ACTIONS } from '../../../daemon/base/measured.ts';
import { BUILD_FAILURES } from '../../../daemon/metrics/build-failures.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { tar } from '../../support/images/tar.ts';

const ADDRESS = '127.0.0.1:9323';
const MS = 1e6;

/** Series by name with labels, as Prometheus reads them. */
type Series = ReadonlyMap<string, number>;

async function scrape(engine: Engine): Promise<Series> {
  const text = await engine.daemon.fetch(`http://${ADDRESS}/metrics`);
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line): [string, number] => {
        const separator = line.lastIndexOf(' ');
        return [line.slice(0, separator), Number(line.slice(separator + 1))];
      }),
  );
}

const labels = (series: Series, name: string): string[] =>
  [...series.keys()].filter((key) => key.startsWith(`${name}{`)).toSorted();

/** How much each of these has grown; a name alone is a series without labels. */
async function growth(
  engine: Engine,
  names: readonly string[],
  act: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = await scrape(engine);
  await act();
  const after = await scrape(engine);
  return Object.fromEntries(names.map((name) => [name, (after.get(name) ?? 0) - (before.get(name) ?? 0)]));
}

const failed = (reason: string): string => `builder_builds_failed_total{reason="${reason}"}`;

const action = (subject: string, name: string): string =>
  `engine_daemon_${subject}_actions_seconds_count{action="${name}"}`;

/** What curl says of the answer, in the daemon's network namespace. */
function status(engine: Engine, ...args: string[]): Promise<string> {
  const quiet = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--noproxy', '*'];
  return engine.daemon.netns.run('curl', ...quiet, ...args);
}

async function build(engine: Engine, dockerfile: string, query: string): Promise<void> {
  const body = tar([{ name: 'Dockerfile', content: dockerfile }]);
  await engine.http.request('POST', `/build?${query}`, {
    body,
    headers: { 'Content-Type': 'application/x-tar' },
  });
}

const config = { 'metrics-addr': ADDRESS, ...(onReference && { experimental: true }) };

describeEngine(
  'metrics',
  (engine) => {
    test('metrics: the engine and its machine, by the names and labels of dockerd', async () => {
      const info = await engine.http.ok<SystemInfo>('GET', '/info');
      const series = await scrape(engine);
      const version = await engine.http.ok<{ GitCommit: string }>('GET', '/version');
      expect(series.get('engine_daemon_engine_cpus_cpus')).toBe(info.NCPU);
      expect(series.get('engine_daemon_engine_memory_bytes')).toBe(info.MemTotal);
      expect(labels(series, 'engine_daemon_engine_info')).toEqual([
        `engine_daemon_engine_info{architecture="${info.Architecture}",commit="${version.GitCommit}",` +
          `daemon_id="${info.ID}",graphdriver="${info.Driver}",kernel="${info.KernelVersion}",` +
          `os="${info.OperatingSystem}",os_type="linux",os_version="${info.OSVersion}",` +
          `version="${info.ServerVersion}"}`,
      ]);
    });

    test('metrics: containers by state', async () => {
      const states = async (): Promise<unknown[]> => {
        const series = await scrape(engine);
        return ['running', 'paused', 'stopped'].map((state) =>
          series.get(`engine_daemon_container_states_containers{state="${state}"}`),
        );
      };
      expect(await states()).toEqual([0, 0, 0]);
      const running = await engine.start(['sleep', '1000']);
      await engine.create(['true']);
      expect(await states()).toEqual([1, 0, 1]);
      await engine.http.ok('POST', `/containers/${running}/pause`);
      expect(await states()).toEqual([0, 1, 1]);
      await engine.http.ok('POST', `/containers/${running}/unpause`);
      await engine.http.ok('POST', `/containers/${running}/kill`);
      await engine.wait(running);
      expect(await states()).toEqual([0, 0, 2]);
    });

    test('metrics: actions on containers are counted with their times, those by a policy and --rm too', async () => {
      const names = ['create', 'start', 'delete', 'commit', 'changes'].map((name) =>
        action('container', name),
      );
      const counted = await growth(engine, names, async () => {
        const id = await engine.start(['sh', '-c', 'test -e /again || { touch /again; exit 1; }'], {
          RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 },
        });
        await until('the second run', async () => {
          const { RestartCount, State } = await engine.http.ok<ContainerInspect>(
            'GET',
            `/containers/${id}/json`,
          );
          return RestartCount === 1 && State.Status === 'exited';
        });
        await engine.http.ok('GET', `/containers/${id}/changes`);
        await engine.http.ok('POST', `/commit?container=${id}&repo=measured`);
        await engine.http.ok('DELETE', '/images/measured');
        const removed = await engine.start(['true'], { AutoRemove: true });
        await until('the removal', async () => {
          const series = await scrape(engine);
          return (
            (await engine.http.request('GET', `/containers/${removed}/json`)).status === 404 &&
            (series.get(action('container', 'delete')) ?? 0) > 0
          );
        });
      });
      expect(counted).toEqual({
        [action('container', 'create')]: 2,
        [action('container', 'start')]: 3,
        [action('container', 'delete')]: 1,
        [action('container', 'commit')]: 1,
        [action('container', 'changes')]: 1,
      });
      const series = await scrape(engine);
      const sum = series.get('engine_daemon_container_actions_seconds_sum{action="start"}') ?? 0;
      expect(sum).toBeGreaterThan(0.001);
      expect(sum).toBeLessThan(100);
    });

    test('metrics: events, health checks, and those that could not be run', async () => {
      const names = [
        'engine_daemon_events_total',
        'engine_daemon_health_checks_total',
        'engine_daemon_health_checks_failed_total',
      ];
      const probed = (Test: string[], verdict: string) =>
        growth(engine, names, async () => {
          const Healthcheck = { Test, Interval: 100 * MS, Retries: 1 };
          const id = await engine.start(['sleep', '1000'], {}, { Healthcheck });
          await until(verdict, async () => (await engine.inspect(id)).State.Health?.Status === verdict);
          await engine.http.ok('DELETE', `/containers/${id}?force=1`);
        });
      const [events = 0, checks = 0, broken] = Object.values(await probed(['CMD', 'false'], 'unhealthy'));
      expect(checks).toBeGreaterThanOrEqual(1);
      // Ill is no failure of the check, as with dockerd.
      expect(broken).toBe(0);
      // create, start, exec_create, exec_start, exec_die, health_status, kill, die, destroy.
      expect(events).toBeGreaterThanOrEqual(9);

      const missing = await probed(['CMD', '/not/there'], 'unhealthy');
      expect(missing['engine_daemon_health_checks_failed_total']).toBeGreaterThanOrEqual(1);
    });

    test('metrics: builds, and why they failed', async () => {
      const counted = await growth(
        engine,
        [
          'builder_builds_triggered_total',
          failed('unknown_instruction_error'),
          failed('build_target_not_reachable_error'),
        ],
        async () => {
          await build(engine, 'FROM busybox\nLABEL a=b', 't=measured');
          await build(engine, 'FROM busybox\nFOO', '');
          await build(engine, 'FROM busybox', 'target=there');
          await engine.http.ok('DELETE', '/images/measured');
        },
      );
      expect(counted).toEqual({
        builder_builds_triggered_total: 3,
        [failed('unknown_instruction_error')]: 1,
        [failed('build_target_not_reachable_error')]: 1,
      });
      const reasons = labels(await scrape(engine), 'builder_builds_failed_total');
      expect(reasons).toEqual(BUILD_FAILURES.map((reason) => failed(reason)).toSorted());
    });

    test('metrics: nothing but GET /metrics is answered, and no web page', async () => {
      expect(await status(engine, `http://${ADDRESS}/`)).toBe('404');
      expect(await status(engine, `http://${ADDRESS}/containers/json`)).toBe('404');
      expect(await status(engine, `http://${ADDRESS}/metrics?x=y`)).toBe('200');
      if (!onReference) {
        expect(await status(engine, '-H', 'Origin: https://example.com', `http://${ADDRESS}/metrics`)).toBe(
          '403',
        );
        expect(await status(engine, '-H', 'Host: evil.example.com', `http://${ADDRESS}/metrics`)).toBe('403');
      }
    });

    test.skipIf(onReference)('metrics: failed pulls, the store, the loop and the process', async () => {
      const pull = 'berth_actions_failed_total{subject="image",action="pull"}';
      const counted = await growth(
        engine,
        [pull, action('image', 'pull'), action('image', 'delete')],
        async () => {
          await engine.http.request('POST', '/images/create?fromImage=127.0.0.1:1/nothing&tag=here');
          await engine.http.ok('POST', '/images/busybox/tag?repo=another');
          await engine.http.ok('DELETE', '/images/another');
        },
      );
      expect(counted).toEqual({
        [pull]: 1,
        [action('image', 'pull')]: 0,
        [action('image', 'delete')]: 1,
      });
      const series = await scrape(engine);
      expect(series.get('berth_store_images')).toBe(1);
      expect(series.get('berth_store_layers')).toBe(1);
      expect(series.get('berth_store_layers_bytes')).toBe(
        (await engine.http.ok<{ LayersSize: number }>('GET', '/system/df')).LayersSize,
      );
      expect(series.get('berth_store_database_bytes{file="database"}')).toBe(
        statSync(`${engine.daemon.paths.dataRoot}/berth.db`).size,
      );
      expect(series.get('process_resident_memory_bytes')).toBeGreaterThan(10e6);
      expect(series.get('process_open_fds')).toBeGreaterThan(10);
      expect(series.get('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
      for (const subject of ['container', 'image', 'network'] as const) {
        expect(labels(series, `engine_daemon_${subject}_actions_seconds_count`)).toEqual(
          ACTIONS[subject].map((name) => action(subject, name)).toSorted(),
        );
      }
    });
  },
  { config },
);
