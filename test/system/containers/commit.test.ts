import { expect, test } from 'vitest';
import type { ContainerConfig } from '../../../api/types/container.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { jsonLines, until, type HttpClient } from '../../support/engine/http.ts';
import { savedLayers } from '../../support/images/saved-layers.ts';
import { untar } from '../../support/images/untar.ts';
import { tar } from '../../support/images/tar.ts';

interface Image {
  Id: string;
  Parent: string;
  Container: string;
  Comment: string;
  Author: string;
  RepoTags: string[];
  Config: ContainerConfig;
  ContainerConfig: ContainerConfig;
  RootFS: { Layers: string[] };
}

interface Event {
  Type: string;
  Action: string;
  Actor: { Attributes: Record<string, string> };
}

describeEngine('commit', (engine) => {
  const http = (): HttpClient => engine.http;
  const commit = async (container: string, query = '', body?: unknown): Promise<string> => {
    const answer = await http().request('POST', `/commit?container=${container}${query}`, {
      ...(body !== undefined && { body }),
    });
    expect({ status: answer.status, text: answer.status === 201 ? '' : answer.text }).toEqual({
      status: 201,
      text: '',
    });
    const { Id } = JSON.parse(answer.text) as { Id: string };
    expect(Id).toMatch(/^sha256:[0-9a-f]{64}$/);
    return Id;
  };
  // Container and ContainerConfig are of before 1.45.
  const image = (ref: string): Promise<Image> => http().ok('GET', `/v1.41/images/${ref}/json`);
  const drop = (ref: string): Promise<unknown> => http().ok('DELETE', `/images/${ref}?force=1`);
  const now = async (): Promise<string> =>
    (await http().ok<{ SystemTime: string }>('GET', '/info')).SystemTime;
  /** What was told since `since`, without what busybox containers do in between. */
  const told = async (since: string): Promise<Event[]> => {
    const end = await now();
    const path = `/events?since=${encodeURIComponent(since)}&until=${encodeURIComponent(end)}`;
    return jsonLines((await http().request('GET', path)).text) as Event[];
  };
  test('commit: the files of a container at rest are a layer on its image', async () => {
    const { id } = await engine.run([
      'sh',
      '-c',
      'mkdir -p /new/deep; echo hi >/new/deep/file; chown 7:8 /new/deep/file; rm /etc/passwd; chmod 700 /home',
    ]);
    const made = await commit(id, '&repo=made&tag=by-hand&comment=why&author=me');
    const base = await image('busybox');
    const found = await image('made:by-hand');
    expect(found).toMatchObject({
      Id: made,
      Parent: base.Id,
      Container: id,
      Comment: 'why',
      Author: 'me',
      RepoTags: ['made:by-hand'],
    });
    expect(found.RootFS.Layers.slice(0, -1)).toEqual(base.RootFS.Layers);
    const { stdout } = await engine.run(
      ['sh', '-c', 'cat /new/deep/file; stat -c %u:%g /new/deep/file; ls /etc/passwd; stat -c %a /home'],
      {},
      { Image: 'made:by-hand' },
    );
    expect(stdout).toBe('hi\n7:8\n700\n');
    const history = await http().ok<{ Id: string; CreatedBy: string; Comment: string; Tags: string[] }[]>(
      'GET',
      '/images/made:by-hand/history',
    );
    expect(history[0]).toMatchObject({ Id: made, Comment: 'why', Tags: ['made:by-hand'] });
    expect(history[0]?.CreatedBy).toMatch(/^sh -c mkdir -p \/new\/deep/);
    await engine.removeAll();
    await drop('made:by-hand');
  });

  test('commit: the layer holds nothing but what changed', async () => {
    const { id } = await engine.run(['sh', '-c', 'echo x >/etc/made; cat /etc/hosts >/dev/null']);
    await commit(id, '&repo=small');
    const { bytes } = await http().request('GET', '/images/small/get');
    const layers = savedLayers(bytes).map((layer) => untar(layer).map(({ name }) => name));
    expect(layers.toSorted((a, b) => a.length - b.length)[0]).toEqual(['etc/', 'etc/made']);
    await engine.removeAll();
    await drop('small');
  });

  test('commit: nothing changed is no layer', async () => {
    const id = await engine.create(['true']);
    const made = await commit(id);
    expect((await image(made)).RootFS.Layers).toEqual((await image('busybox')).RootFS.Layers);
    await engine.removeAll();
    await drop(made);
  });

  test.skipIf(onReference)('commit: a running container is paused meanwhile, and told of', async () => {
    const id = await engine.start(['sh', '-c', 'echo live >/live; touch /there; sleep 60']);
    await until('the file', async () => (await engine.exec(id, ['ls', '/there'])).exitCode === 0);
    const since = await now();
    const made = await commit(id, '&repo=live&comment=c');
    const events = await told(since);
    expect(
      events
        .filter(({ Type, Action }) => Type === 'image' || /^(pause|unpause|commit)$/.test(Action))
        .map(({ Type, Action }) => `${Type} ${Action}`),
    ).toEqual(['container pause', 'image create', 'image tag', 'container commit', 'container unpause']);
    const told1 = events.find(({ Action }) => Action === 'commit')?.Actor.Attributes;
    expect(told1).toMatchObject({
      comment: 'c',
      imageID: made,
      imageRef: expect.stringMatching(/live:latest$/),
    });
    expect((await engine.inspect(id)).State.Status).toBe('running');
    expect((await engine.run(['cat', '/live'], {}, { Image: 'live' })).stdout).toBe('live\n');
    await engine.removeAll();
    await drop('live');
  });

  test
    .skipIf(onReference)
    .each([
      'containers.pause.marked',
      'containers.pause.commit',
      'containers.commit.image',
      'containers.unpause.commit',
    ])('commit: a daemon that dies at %s does not leave the container paused', async (point) => {
    const counting = ['sh', '-c', 'i=0; while :; do i=$((i+1)); echo $i >/count; sleep 0.05; done'];
    const id = await engine.start(counting);
    const byUser = await engine.start(['sleep', '1000']);
    await http().ok('POST', `/containers/${byUser}/pause`);
    await engine.daemon.restart({ env: { BERTH_FAILPOINTS: `${point}=sigkill` } });
    await expect(commit(id, '&repo=dies')).rejects.toThrow();
    await engine.daemon.ended();
    await engine.daemon.up();
    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'running', Paused: false });
    expect((await engine.inspect(byUser)).State.Status).toBe('paused');
    const count = async (): Promise<string> => (await engine.exec(id, ['cat', '/count'])).stdout;
    const before = await count();
    await until('it to go on', async () => (await count()) !== before);
    // And it can be committed now, and paused by its user.
    await commit(id, '&repo=dies');
    await http().ok('POST', `/containers/${id}/pause`);
    await engine.daemon.restart();
    expect((await engine.inspect(id)).State.Status).toBe('paused');
    await http().ok('DELETE', '/images/dies?force=1');
  });

  test('commit: with pause=0 nothing is stopped; a paused one stays paused', async () => {
    const id = await engine.start(['sleep', '60']);
    const since = await now();
    const first = await commit(id, '&pause=0');
    expect((await told(since)).map(({ Action }) => Action)).not.toContain('pause');
    await http().ok('POST', `/containers/${id}/pause`);
    const second = await commit(id);
    expect((await engine.inspect(id)).State.Status).toBe('paused');
    await engine.removeAll();
    await drop(first);
    await drop(second);
  });

  test('commit: body and changes decide the configuration, the container the rest', async () => {
    const id = await engine.create(['sh'], {}, { Env: ['A=1', 'B=2'], Labels: { kept: 'yes' }, User: '5' });
    const made = await commit(
      id,
      `&changes=${encodeURIComponent('CMD ["echo","x"]')}&changes=${encodeURIComponent('EXPOSE 80\nLABEL l=v')}`,
      { Env: ['A=9'], WorkingDir: '/tmp', ExposedPorts: { '81/tcp': {} }, Volumes: { '/data': {} } },
    );
    const { Config } = await image(made);
    expect(Config).toMatchObject({
      Cmd: ['echo', 'x'],
      User: '5',
      WorkingDir: '/tmp',
      Labels: { kept: 'yes', l: 'v' },
      ExposedPorts: { '80/tcp': {}, '81/tcp': {} },
      Volumes: { '/data': {} },
    });
    expect(Config.Env?.slice(0, 2)).toEqual(['A=9', 'B=2']);
    await engine.removeAll();
    await drop(made);
  });

  test.each([
    ['a container that is not there', '?container=nobody', 404, 'No such container: nobody'],
    ['no container', '', 400, ''],
    ['a bad name', '?container=ID&repo=UPPER', onReference ? 500 : 400, 'must be lowercase'],
    [
      'a bad change',
      '?container=ID&changes=RUN+x',
      onReference ? 500 : 400,
      'run is not a valid change command',
    ],
  ])('commit: %s is refused', async (_what, query, status, message) => {
    const id = await engine.create(['true']);
    const before = await http().ok<unknown[]>('GET', '/images/json?all=1');
    const answer = await http().request('POST', `/commit${query.replace('ID', id)}`);
    expect(answer.status).toBe(status);
    expect(answer.text.toLowerCase()).toContain(message.toLowerCase());
    if (!onReference) {
      expect(await http().ok('GET', '/images/json?all=1')).toEqual(before);
    }
  });

  test('commit: hard links, devices, links and odd names come through', async () => {
    const id = await engine.create(['true']);
    const files = tar([
      { name: 'odd/', mode: 0o1777 },
      { name: 'odd/a b', content: 'x', mode: 0o4755 },
      { name: 'odd/second', type: '1', linkName: 'odd/a b', mode: 0o4755 },
      { name: 'odd/link', type: '2', linkName: '/nowhere' },
      { name: 'odd/fifo', type: '6' },
    ]);
    await http().ok('PUT', `/containers/${id}/archive?path=/`, files);
    const made = await commit(id);
    const { stdout } = await engine.run(
      ['sh', '-c', 'cd /odd; stat -c "%n %a %h %F" * .; readlink link'],
      {},
      { Image: made },
    );
    expect(stdout).toBe(
      'a b 4755 2 regular file\nfifo 644 1 fifo\nlink 777 1 symbolic link\nsecond 4755 2 regular file\n' +
        '. 1777 2 directory\n/nowhere\n',
    );
    await engine.removeAll();
    await drop(made);
  });

  test('commit: a file of the image and the name it was given are one file afterwards', async () => {
    const { id } = await engine.run(['sh', '-c', 'ln /bin/busybox /bb && ln /etc/group /etc/again']);
    const made = await commit(id);
    const { stdout } = await engine.run(
      [
        'sh',
        '-c',
        'stat -c %i /bb /bin/busybox | uniq | wc -l; stat -c "%i %h" /etc/group /etc/again | uniq | wc -l',
      ],
      {},
      { Image: made },
    );
    expect(stdout).toBe('1\n1\n');
    await engine.removeAll();
    await drop(made);
  });
});
