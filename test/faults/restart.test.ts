import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../support/engine.ts';
import { until } from '../support/http.ts';
import { differences } from '../support/oracle.ts';

describeEngine('a start of the daemon', (engine) => {
  test.runIf(!onReference)('succeeds when an interface that it takes away vanishes by itself', async () => {
    const { daemon } = engine;
    const id = await engine.start(['sleep', '600'], { NetworkMode: 'bridge' });
    const { State, NetworkSettings } = await engine.inspect(id);
    // While it lives, so do the namespace and its interface.
    const inside = spawn('nsenter', [`--net=${NetworkSettings.SandboxKey}`, 'sleep', '600']);
    await daemon.kill9();
    process.kill(State.Pid, 'SIGKILL');

    const step = 'network.close.unplugging';
    const trace = daemon.paths.failpointTrace;
    const up = daemon.up({ BERTH_FAILPOINTS: `${step}=delay(500)@1`, BERTH_FAILPOINT_TRACE: trace });
    await until(step, () => existsSync(trace) && readFileSync(trace, 'utf8').includes(step));
    inside.kill('SIGKILL');
    await up;

    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'exited', ExitCode: 137 });
    await expect.poll(() => differences(daemon), { timeout: 3000 }).toEqual([]);
  });
});
