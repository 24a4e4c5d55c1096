import { expect, test } from 'vitest';
import { processes } from '../../support/engine/cleanup.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { sleep, until } from '../../support/engine/http.ts';
import { descriptorGrowth, differences, restingDescriptors } from '../../support/engine/oracle.ts';
import { untilNow } from '../../support/engine/until-now.ts';

// dockerd ends its containers with itself unless live-restore is set: nothing to compare with.
const survives = test.runIf(!onReference);

/** Once nothing is left of a container that ends by itself, its monitor included: what it leaves is all on disk. */
const hasEnded = (id: string): Promise<void> =>
  until('its end', () => processes().every(({ commandLine }) => !commandLine.includes(id)));

describeEngine('kill -9 of the daemon', (engine) => {
  survives('a running container runs on: same pid, stoppable, attachable, exec', async () => {
    const id = await engine.start(['sh', '-c', 'trap "exit 5" TERM; echo up; while :; do sleep 0.05; done']);
    await until('the trap', async () => (await engine.logs(id)).stdout === 'up\n');
    const before = await engine.inspect(id);
    await engine.daemon.restart();
    const after = await engine.inspect(id);
    expect(after.State).toEqual(before.State);
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
    expect((await engine.exec(id, ['echo', 'hello'])).stdout).toBe('hello\n');
    await engine.http.ok('POST', `/containers/${id}/stop`);
    expect((await engine.inspect(id)).State.ExitCode).toBe(5);
  });

  survives('a container that ended meanwhile has its exit code, its time and one die event', async () => {
    const id = await engine.start(['sh', '-c', 'sleep 0.4; echo last words; exit 7']);
    await engine.daemon.kill9();
    await hasEnded(id);
    await sleep(100);
    const started = Date.now();
    await engine.daemon.up();
    const { State } = await engine.inspect(id);
    expect(State).toMatchObject({ Status: 'exited', ExitCode: 7, Running: false, Pid: 0 });
    expect(Date.parse(State.FinishedAt)).toBeLessThan(started - 50);
    expect((await engine.logs(id)).stdout).toBe('last words\n');
    const filters = encodeURIComponent(JSON.stringify({ container: [id], event: ['die'] }));
    const events = await engine.http.request('GET', `/events?since=0&until=${untilNow()}&filters=${filters}`);
    expect(events.text.trim().split('\n')).toHaveLength(1);
  });

  survives('auto-remove is done for a container that ended meanwhile', async () => {
    const id = await engine.start(['sleep', '0.3'], { AutoRemove: true });
    await engine.daemon.kill9();
    await hasEnded(id);
    await engine.daemon.up();
    await until('its removal', async () => (await engine.list()).length === 0);
    expect((await engine.http.request('GET', `/containers/${id}/json`)).status).toBe(404);
  });

  survives('a restart policy goes on', async () => {
    const id = await engine.start(['sleep', '0.3'], {
      RestartPolicy: { Name: 'always', MaximumRetryCount: 0 },
    });
    await engine.daemon.kill9();
    await hasEnded(id);
    await engine.daemon.up();
    await until('it to run again', async () => (await engine.inspect(id)).RestartCount >= 1);
  });

  survives('no line of output is lost or doubled over five kills', async () => {
    const id = await engine.start(['sh', '-c', 'for i in $(seq 500); do echo $i; sleep 0.01; done']);
    for (let kills = 0; kills < 5; kills += 1) {
      await sleep(200);
      await engine.daemon.restart();
    }
    await engine.wait(id);
    const expected = Array.from({ length: 500 }, (_, index) => `${index + 1}\n`).join('');
    expect((await engine.logs(id)).stdout).toBe(expected);
  });

  survives('a published port answers while no daemon runs, and is taken over', async () => {
    const id = await engine.start(
      ['sh', '-c', 'mkdir /www; echo page >/www/index.html; httpd -f -p 80 -h /www'],
      { NetworkMode: 'bridge', PortBindings: { '80/tcp': [{ HostPort: '8200' }] } },
      { ExposedPorts: { '80/tcp': {} } },
    );
    const page = (): Promise<string> => engine.daemon.fetch('http://127.0.0.1:8200/');
    await until('the page', async () => (await page()) === 'page\n');
    await engine.daemon.kill9();
    await expect.poll(page).toBe('page\n');
    await engine.daemon.up();
    await expect.poll(page).toBe('page\n');
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
    await engine.remove(id);
    expect(await page()).toBe('');
  });

  survives('standard input goes on with a new client', async () => {
    const id = await engine.start(
      ['sh', '-c', 'while read line; do echo "got $line"; done; echo over'],
      {},
      { OpenStdin: true, StdinOnce: false },
    );
    await engine.daemon.restart();
    const stream = await engine.http.hijack(`/containers/${id}/attach?stream=1&stdin=1&stdout=1`);
    stream.socket.write('it\n');
    await stream.waitFor('got it');
    stream.socket.destroy();
  });

  survives('a hundred containers later no descriptor, process or mount has stayed', async () => {
    const ten = async (): Promise<void> => {
      const ids = await Promise.all(
        Array.from({ length: 10 }, async () => (await engine.run(['true'], { NetworkMode: 'bridge' })).id),
      );
      await Promise.all(ids.map((id) => engine.remove(id)));
    };
    // The first ones make what stays.
    await ten();
    const before = await restingDescriptors(engine.daemon);
    for (let round = 0; round < 10; round += 1) {
      await ten();
    }
    await expect.poll(() => descriptorGrowth(before, engine.daemon)).toEqual({});
    // The kernel takes its time with interfaces of ended namespaces.
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
  });
});
