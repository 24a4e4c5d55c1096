import { expect, test } from 'vitest';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';

const filters = (map: Record<string, string[]>): string =>
  `filters=${encodeURIComponent(JSON.stringify(map))}`;

describeEngine('names and lists', (engine) => {
  test('find: by id, unique prefix and name', async () => {
    const id = await engine.create(['true'], {}, {}, 'web.1_a-b');
    const found = await Promise.all(
      [id, id.slice(0, 12), id.slice(0, 5), 'web.1_a-b'].map(async (ref) => {
        const { Id } = await engine.http.ok<{ Id: string }>(
          'GET',
          `/containers/${encodeURIComponent(ref)}/json`,
        );
        return Id;
      }),
    );
    expect(new Set(found)).toEqual(new Set([id]));
  });

  test('find: what does not exist is 404 with the text of dockerd', async () => {
    const answer = await engine.http.request('GET', '/containers/nobody/json');
    expect([answer.status, answer.json]).toEqual([404, { message: 'No such container: nobody' }]);
  });

  test('create: without a name gets one', async () => {
    const id = await engine.create(['true']);
    expect((await engine.inspect(id)).Name).toMatch(/^\/[a-z]+_[a-z]+\d?$/);
  });

  test('create: a name in use is 409 and names its owner', async () => {
    const id = await engine.create(['true'], {}, {}, 'taken');
    const answer = await engine.http.request('POST', '/containers/create?name=taken', {
      body: { Image: 'busybox' },
    });
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('The container name \\"/taken\\" is already in use by container');
    expect(answer.text).toContain(id);
  });

  test.each(['a b', 'a/b', 'ä', '.a'])('create: the name %j is refused', async (name) => {
    const answer = await engine.http.request('POST', `/containers/create?name=${encodeURIComponent(name)}`, {
      body: { Image: 'busybox' },
    });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('Invalid container name');
  });

  test('rename: the new name finds it, the old one is free', async () => {
    const id = await engine.create(['true'], {}, {}, 'before');
    await engine.http.ok('POST', `/containers/${id}/rename?name=after`);
    expect((await engine.inspect('after')).Id).toBe(id);
    await engine.create(['true'], {}, {}, 'before');
    const answer = await engine.http.request('POST', `/containers/${id}/rename?name=before`);
    expect(answer.status).toBe(409);
  });

  test('list: shows running ones, newest first, all of them with all=1', async () => {
    const first = await engine.start(['sleep', '1000']);
    const second = await engine.create(['true']);
    const third = await engine.start(['sleep', '1000']);
    expect((await engine.list('')).map(({ Id }) => Id)).toEqual([third, first]);
    expect((await engine.list('?all=1')).map(({ Id }) => Id)).toEqual([third, second, first]);
    expect((await engine.list('?limit=2')).map(({ Id }) => Id)).toEqual([third, second]);
  });

  test('list: an entry tells what ps shows', async () => {
    const id = await engine.start(['sleep', '1000'], {}, { Labels: { tier: 'web' } }, 'shown');
    const [entry] = await engine.list();
    expect(entry).toMatchObject({
      Id: id,
      Names: ['/shown'],
      Image: 'busybox:latest',
      Command: 'sleep 1000',
      State: 'running',
      Labels: { tier: 'web' },
      Ports: [],
      HostConfig: { NetworkMode: 'none' },
    });
    expect(entry?.Status).toMatch(/^Up (Less than a second|\d+ seconds?)$/);
  });

  test('list: every filter finds the one it describes', async () => {
    const plain = await engine.create(['true'], {}, {}, 'plain');
    const ended = (await engine.run(['sh', '-c', 'exit 3'], {}, { Labels: { a: '1' } })).id;
    const bound = await engine.start(
      ['sleep', '1000'],
      {
        Binds: ['data:/data', '/etc:/host'],
        NetworkMode: 'bridge',
        PortBindings: { '80/tcp': [{ HostPort: '8085' }] },
      },
      { Labels: { a: '2' }, ExposedPorts: { '80/tcp': {}, '81/udp': {} } },
    );
    const [bridge] = await engine.http.ok<NetworkInspect[]>(
      'GET',
      `/networks?${filters({ name: ['bridge'] })}`,
    );
    const table: [Record<string, string[]>, string[]][] = [
      [{ status: ['created'] }, [plain]],
      [{ status: ['exited', 'running'] }, [bound, ended]],
      [{ exited: ['3'] }, [ended]],
      [{ label: ['a'] }, [bound, ended]],
      [{ label: ['a=2'] }, [bound]],
      [{ name: ['lai'] }, [plain]],
      [{ name: ['^/?plain$'] }, [plain]],
      [{ id: [ended.slice(0, 10)] }, [ended]],
      [{ volume: ['data'] }, [bound]],
      [{ volume: ['/data'] }, [bound]],
      [{ volume: ['/etc'] }, [bound]],
      [{ network: ['none'] }, [ended, plain]],
      [{ network: ['bridge'] }, [bound]],
      [{ network: [bridge?.Id.slice(0, 12) ?? ''] }, [bound]],
      [{ publish: ['8085'] }, [bound]],
      [{ publish: ['8000-9000/tcp'] }, [bound]],
      [{ publish: ['80'] }, []],
      [{ expose: ['81/udp'] }, [bound]],
      [{ expose: ['80-82/udp'] }, [bound]],
      [{ expose: ['81'] }, []],
      [{ status: [] }, [bound, ended, plain]],
      [{ ancestor: ['busybox'] }, [bound, ended, plain]],
      [{ ancestor: ['busybox:latest'], status: ['running'] }, [bound]],
      [{ before: [ended] }, [plain]],
      [{ since: ['plain'] }, [bound, ended]],
    ];
    const seen: [Record<string, string[]>, string[]][] = [];
    for (const [filter] of table) {
      seen.push([filter, (await engine.list(`?all=1&${filters(filter)}`)).map(({ Id }) => Id)]);
    }
    expect(seen).toEqual(table);
  });

  test.each([
    ['a filter nobody knows', filters({ colour: ['blue'] })],
    ['a status nobody has', filters({ status: ['asleep'] })],
  ])('list: %s is 400', async (_what, query) => {
    expect((await engine.http.request('GET', `/containers/json?${query}`)).status).toBe(400);
  });

  // dockerd 20.10 answers 500, later ones 400.
  test.runIf(!onReference)('list: filters that are no JSON are 400', async () => {
    expect((await engine.http.request('GET', '/containers/json?filters=%7B')).status).toBe(400);
  });

  test('inspect: size=1 counts what the container wrote', async () => {
    const { id } = await engine.run(['sh', '-c', 'head -c 100000 /dev/zero >/file']);
    const seen = await engine.http.ok<{ SizeRw: number; SizeRootFs: number }>(
      'GET',
      `/containers/${id}/json?size=1`,
    );
    expect(seen.SizeRw).toBeGreaterThanOrEqual(100_000);
    expect(seen.SizeRootFs).toBeGreaterThan(seen.SizeRw);
  });
});
