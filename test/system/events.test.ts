import { expect, test } from 'vitest';
import { describeEngine, onReference, type Engine } from '../support/engine.ts';
import { jsonLines, readAll, until } from '../support/http.ts';

interface Event {
  status?: string;
  id?: string;
  from?: string;
  Type: string;
  Action: string;
  Actor: { ID: string; Attributes: Record<string, string> };
  time: number;
  timeNano: number;
}

const filters = (map: Record<string, string[]>): string =>
  `filters=${encodeURIComponent(JSON.stringify(map))}`;

/** Events of the past of one container, oldest first. */
async function past(engine: Engine, id: string): Promise<Event[]> {
  const now = (Date.now() / 1000 + 0.001).toFixed(9);
  const answer = await engine.http.request(
    'GET',
    `/events?since=0&until=${now}&${filters({ container: [id] })}`,
  );
  // Events as they are written: what is compared is their content.
  return jsonLines(answer.text) as Event[];
}

describeEngine('events', (engine) => {
  test('events: a life from create to destroy, in order', async () => {
    const id = await engine.create(['sh', '-c', 'exit 3'], {}, { Labels: { tier: 'web' } }, 'watched');
    await engine.http.ok('POST', `/containers/${id}/start`);
    await engine.wait(id);
    await engine.http.ok('POST', `/containers/${id}/rename?name=renamed`);
    await engine.http.ok('DELETE', `/containers/${id}`);
    const events = await past(engine, id);
    expect(events.map(({ Action }) => Action)).toEqual(['create', 'start', 'die', 'rename', 'destroy']);
    expect(events[2]).toMatchObject({
      status: 'die',
      id,
      from: 'busybox:latest',
      Type: 'container',
      Actor: {
        ID: id,
        Attributes: { exitCode: '3', image: 'busybox:latest', name: 'watched', tier: 'web' },
      },
    });
  });

  test('events: stop and kill tell their signal, exactly one die each', async () => {
    const id = await engine.start(['sleep', '1000']);
    await engine.http.ok('POST', `/containers/${id}/stop?t=0`);
    const events = await past(engine, id);
    const actions = events.map(({ Action }) => Action);
    expect(actions.filter((action) => action === 'die')).toHaveLength(1);
    expect(actions.at(-1)).toBe('stop');
    expect(events.find(({ Action }) => Action === 'kill')?.Actor.Attributes['signal']).toMatch(/^\d+$/);
  });

  test('events: a stream delivers what happens now and ends with its client', async () => {
    const abort = new AbortController();
    const response = await engine.http.open('GET', `/events?${filters({ event: ['create'] })}`, {
      signal: abort.signal,
    });
    let text = '';
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    // Aborting is how this client says good-bye.
    response.on('error', () => undefined);
    const id = await engine.create(['true']);
    await until('the event', () => text.includes(id));
    abort.abort();
    expect(jsonLines(text)).toMatchObject([{ Action: 'create', id }]);
  });

  test('events: until in the future ends the stream by itself', async () => {
    const soon = (Date.now() / 1000 + 0.5).toFixed(3);
    const response = await engine.http.open('GET', `/events?until=${soon}`);
    const id = await engine.create(['true']);
    expect((await readAll(response)).toString()).toContain(id);
  });

  test('events: filters by type, label, image and event combine', async () => {
    const id = await engine.create(['true'], {}, { Labels: { a: '1' } });
    await engine.create(['true'], {}, { Labels: { a: '2' } });
    const now = (Date.now() / 1000 + 0.001).toFixed(9);
    const query = filters({
      type: ['container'],
      label: ['a=1'],
      image: ['busybox:latest'],
      event: ['create'],
    });
    const answer = await engine.http.request('GET', `/events?since=0&until=${now}&${query}`);
    expect(jsonLines(answer.text)).toMatchObject([{ id, Action: 'create' }]);
  });

  // dockerd keeps 256 in memory.
  test.runIf(!onReference)('events: the past survives the daemon, beyond 256', async () => {
    const id = await engine.create(['true'], {}, {}, 'name-0');
    for (let index = 1; index <= 300; index += 1) {
      await engine.http.ok('POST', `/containers/${id}/rename?name=name-${index}`);
    }
    await engine.daemon.restart();
    const actions = (await past(engine, id)).map(({ Action }) => Action);
    expect(actions).toEqual(['create', ...Array.from({ length: 300 }, () => 'rename')]);
  });
});
