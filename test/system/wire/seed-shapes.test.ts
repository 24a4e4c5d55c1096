import { expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';
import { compareShape, SEED_ANSWERS, SEED_EVENT, type SeedNames } from '../../support/api/seed-shapes.ts';
import { untilNow } from '../../support/engine/until-now.ts';

/** The tables of the 1.24 document held against a daemon with one of everything: ports, volume, exec, labels. */
describeEngine('the 1.24 document', (engine) => {
  const oneOfEverything = async (): Promise<SeedNames> => {
    const container = await engine.start(
      ['sleep', '1000'],
      {
        NetworkMode: 'bridge',
        Binds: ['seed-data:/data'],
        PortBindings: { '80/tcp': [{ HostPort: '0' }] },
        RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 2 },
      },
      { ExposedPorts: { '80/tcp': {} }, Labels: { a: 'b' } },
    );
    const body = { Cmd: ['true'], AttachStdout: true };
    const exec = await engine.http.ok<{ Id: string }>('POST', `/containers/${container}/exec`, body);
    await engine.http.ok('POST', `/exec/${exec.Id}/start`, { Detach: true });
    await expect
      .poll(async () => (await engine.http.ok<{ Running: boolean }>('GET', `/exec/${exec.Id}/json`)).Running)
      .toBe(false);
    return { container, exec: exec.Id, image: 'busybox', volume: 'seed-data', network: 'bridge' };
  };

  test('every answer: has exactly the fields and types of the document', async () => {
    const names = await oneOfEverything();
    const problems: Record<string, string[]> = {};
    for (const wanted of SEED_ANSWERS) {
      const { table, method, body, status, shape } = wanted;
      const answer = await engine.http.request(
        method,
        wanted.path(names),
        body === undefined ? {} : { body },
      );
      const found = compareShape(shape, answer.json);
      problems[table] = answer.status === status ? found : [`status ${answer.status}`, ...found];
    }
    await engine.http.ok('DELETE', `/containers/${names.container}?force=1`);
    await engine.http.ok('DELETE', '/volumes/seed-data');
    expect(problems).toEqual(Object.fromEntries(SEED_ANSWERS.map(({ table }) => [table, []])));
  });

  test('every event: has exactly the fields and types of the document', async () => {
    await oneOfEverything();
    const { text } = await engine.http.request('GET', `/v1.24/events?since=0&until=${untilNow()}`);
    const events = text.split('\n').filter((line) => line.trim() !== '');
    expect(events.length).toBeGreaterThan(8);
    expect(events.flatMap((line) => compareShape(SEED_EVENT, JSON.parse(line)))).toEqual([]);
    await engine.removeAll();
    await engine.http.ok('DELETE', '/volumes/seed-data');
  });
});
