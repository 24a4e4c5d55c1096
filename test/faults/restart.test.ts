import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { kill } from '../support/engine/cleanup.ts';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import type { Engine } from '../support/engine/engine.ts';
import { until } from '../support/engine/http.ts';
import { differences } from '../support/engine/oracle.ts';

async function actions({ http }: Engine, id: string): Promise<string> {
  const filters = encodeURIComponent(JSON.stringify({ container: [id] }));
  const now = (Date.now() / 1000 + 0.01).toFixed(3);
  return (await http.request('GET', `/events?since=0&until=${now}&filters=${filters}`)).text;
}

describeEngine('a start of the daemon', (engine) => {
  test.runIf(!onReference)('succeeds when an interface that it takes away vanishes by itself', async () => {
    const { daemon } = engine;
    const id = await engine.start(['sleep', '600'], { NetworkMode: 'bridge' });
    const { State, NetworkSettings } = await engine.inspect(id);
    // While it lives, so do the namespace and its interface.
    const inside = spawn('nsenter', [`--net=${NetworkSettings.SandboxKey}`, 'sleep', '600']);
    await daemon.kill9();
    kill(State.Pid);

    const step = 'network.close.detaching';
    const trace = daemon.paths.failpointTrace;
    const up = daemon.up({ BERTH_FAILPOINTS: `${step}=delay(500)@1`, BERTH_FAILPOINT_TRACE: trace });
    await until(step, () => existsSync(trace) && readFileSync(trace, 'utf8').includes(step));
    inside.kill('SIGKILL');
    await up;

    expect((await engine.untilState(id, 'exited')).State).toMatchObject({ ExitCode: 137 });
    await expect.poll(() => differences(daemon)).toEqual([]);
  });

  test.runIf(!onReference)('that dies while it goes on with a stop: the next one finishes it', async () => {
    const { daemon } = engine;
    const id = await engine.start(['sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done']);
    // The daemon dies before it answers.
    const stopping = engine.http.request('POST', `/containers/${id}/stop?t=1`).catch(() => undefined);
    await until('the signal', async () => (await actions(engine, id)).includes('kill'));
    await daemon.kill9();
    await stopping;
    daemon.launch({ BERTH_FAILPOINTS: 'containers.restore.stop=sigkill' });
    await daemon.ended();
    await daemon.up();
    expect((await engine.untilState(id, 'exited')).State.ExitCode).toBe(137);
    await expect.poll(() => differences(daemon)).toEqual([]);
  });

  test.runIf(!onReference)('that dies while it forgets old events forgets them the next time', async () => {
    const { daemon } = engine;
    await daemon.restart({ gracefully: true, env: { BERTH_FAILPOINTS: 'database.event.prune=sigkill' } });
    // A daemon that dies may have answered before.
    const id = await engine.create(['true']).catch(() => undefined);
    await daemon.ended();
    await daemon.up();
    // Its answer may have been lost, it was not.
    expect(await engine.list()).toHaveLength(1);
    expect(id === undefined || (await engine.inspect(id)).Id === id).toBe(true);
    await expect.poll(() => differences(daemon)).toEqual([]);
  });

  test.runIf(!onReference)('that dies before it starts a container starts it the next time', async () => {
    const { daemon } = engine;
    const id = await engine.start(['sleep', '1000'], { RestartPolicy: { Name: 'always' } });
    await engine.http.ok('POST', `/containers/${id}/stop?t=0`);
    await daemon.stop();
    daemon.launch({ BERTH_FAILPOINTS: 'containers.restore.start=sigkill' });
    await daemon.ended();
    await daemon.up();
    await engine.untilState(id, 'running');
    await expect.poll(() => differences(daemon)).toEqual([]);
  });
});
