import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { describeEngine, onReference, type Engine } from '../../support/engine/engine.ts';
import { jsonLines, readAll, until } from '../../support/engine/http.ts';
import { untilNow } from '../../support/engine/until-now.ts';

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
  const answer = await engine.http.request(
    'GET',
    `/events?since=0&until=${untilNow()}&${filters({ container: [id] })}`,
  );
  // Events as they are written: what is compared is their content.
  return jsonLines(answer.text) as Event[];
}

const kills = (chunks: Buffer[]): number =>
  Buffer.concat(chunks).toString().split('"Action":"kill"').length - 1;

describeEngine('events', (engine) => {
  test('an event lies between the times that a client saw before and after', async () => {
    const { http } = engine;
    const id = await engine.start(['sleep', '1000'], {}, { Tty: true });
    for (const _round of Array.from({ length: 200 })) {
      const since = (Date.now() / 1000).toFixed(3);
      await http.ok('POST', `/containers/${id}/resize?h=30&w=90`);
      const query = `since=${since}&until=${untilNow()}&${filters({ event: ['resize'] })}`;
      expect(jsonLines((await http.request('GET', `/events?${query}`)).text)).toHaveLength(1);
    }
  });

  test('events: a life from create to destroy, in order', async () => {
    const id = await engine.create(['sh', '-c', 'exit 3'], {}, { Labels: { tier: 'web' } }, 'watched');
    await engine.http.ok('POST', `/containers/${id}/start`);
    await engine.wait(id);
    await engine.http.ok('POST', `/containers/${id}/rename?name=renamed`);
    await engine.http.ok('DELETE', `/containers/${id}`);
    const events = await past(engine, id);
    expect(events.map(({ Action }) => Action)).toEqual(['create', 'start', 'die', 'rename', 'destroy']);
    expect(events[2]).toMatchObject({
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
    expect(jsonLines(text)).toMatchObject([{ Action: 'create', Actor: { ID: id } }]);
  });

  test('events: until in the future ends the stream by itself', async () => {
    // What happens before that is told; on a busy machine half a second may be over before anything has.
    for (const seconds of [0.5, 5, 30]) {
      const end = Date.now() + seconds * 1000;
      const response = await engine.http.open('GET', `/events?until=${(end / 1000).toFixed(3)}`);
      const id = await engine.create(['true']);
      const isInTime = Date.now() < end;
      const text = (await readAll(response)).toString();
      if (isInTime) {
        expect(text).toContain(id);
        return;
      }
    }
    expect.unreachable('no container was made within half a minute');
  });

  test('events: filters by type, label, image and event combine', async () => {
    const id = await engine.create(['true'], {}, { Labels: { a: '1' } });
    await engine.create(['true'], {}, { Labels: { a: '2' } });
    const query = filters({
      type: ['container'],
      label: ['a=1'],
      image: ['busybox:latest'],
      event: ['create'],
    });
    const answer = await engine.http.request('GET', `/events?since=0&until=${untilNow()}&${query}`);
    expect(jsonLines(answer.text)).toMatchObject([{ Actor: { ID: id }, Action: 'create' }]);
  });

  // dockerd keeps 256 in memory.
  test.runIf(!onReference)('R50: the past survives the daemon, beyond 256', async () => {
    const id = await engine.create(['true'], {}, {}, 'name-0');
    for (let index = 1; index <= 300; index += 1) {
      await engine.http.ok('POST', `/containers/${id}/rename?name=name-${index}`);
    }
    await engine.daemon.restart();
    const actions = (await past(engine, id)).map(({ Action }) => Action);
    expect(actions).toEqual(['create', ...Array.from({ length: 300 }, () => 'rename')]);
  });

  test.runIf(!onReference)(
    'R50: since the last event seen, a client that comes back misses nothing',
    async () => {
      const id = await engine.create(['true'], {}, {}, 'back-0');
      const seen = (await past(engine, id)).at(-1)!;
      await engine.http.ok('POST', `/containers/${id}/rename?name=back-1`);
      await engine.daemon.kill9();
      await engine.daemon.up();
      await engine.http.ok('POST', `/containers/${id}/rename?name=back-2`);
      const since = `${seen.time}.${String(seen.timeNano).slice(-9)}`;
      const response = await engine.http.open(
        'GET',
        `/events?since=${since}&${filters({ container: [id] })}`,
      );
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      await engine.http.ok('POST', `/containers/${id}/rename?name=back-3`);
      await until('the last event', () => /"back-3".*\n/.test(text));
      response.destroy();
      const names = (jsonLines(text) as Event[]).map(({ Actor }) => Actor.Attributes['name']);
      expect(names.filter((name) => name !== 'back-0')).toEqual(['back-1', 'back-2', 'back-3']);
    },
  );

  test('R49: a burst of 10,000 events reaches who reads; who does not read holds up nobody', async () => {
    const id = await engine.start(['sleep', '1000']);
    const request = `GET /events?${filters({ event: ['kill'] })} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const slow = connect(engine.http.socketPath);
    slow.pause();
    slow.write(request);
    const fast = connect(engine.http.socketPath);
    fast.write(request);
    const read: Buffer[] = [];
    fast.on('data', (chunk: Buffer) => read.push(chunk));
    await until('its head', () => read.length > 0);

    const count = 10_000;
    let sent = 0;
    const lane = async (): Promise<void> => {
      while (sent < count) {
        sent += 1;
        await engine.http.ok('POST', `/containers/${id}/kill?signal=URG`);
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
    await until('all events', () => kills(read) === count);
    fast.destroy();

    // Complete, or cut: then without the chunk of length zero that ends an answer.
    const late: Buffer[] = [];
    let isOver = false;
    slow.on('data', (chunk: Buffer) => late.push(chunk));
    slow.on('error', () => undefined);
    slow.once('close', () => {
      isOver = true;
    });
    slow.resume();
    await until('all or the end', () => kills(late) === count || isOver);
    if (kills(late) < count) {
      expect(Buffer.concat(late).toString()).not.toMatch(/\r\n0\r\n\r\n$/);
    }
    slow.destroy();
    expect((await engine.inspect(id)).State.Running).toBe(true);
  });
});
