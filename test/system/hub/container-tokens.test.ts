import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ContainerInspect } from '../../../api/types/container.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { differences } from '../../support/engine/oracle.ts';
import { needs } from '../../support/needs.ts';
import { untilNow } from '../../support/engine/until-now.ts';

const HUB = '127.0.0.1:5010';
const URL = `http://${HUB}`;
const LABELS = { 'berth.hub.token': 'alice/app', 'berth.hub.permissions': 'packages:write' };

needs(
  'root',
  'built',
  'busybox',
  'netns',
)('tokens of the hub for containers', () => {
  let daemon: TestDaemon;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ config: { hub: { address: HUB } } });
    await daemon.loadBusybox();
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    for (const name of ['app', 'other']) {
      await daemon.http.ok('POST', '/hub/admin/repositories', { owner: 'alice', name, private: true });
    }
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  /** A container in the network of the host, where the hub is. */
  async function run(labels: Record<string, string>, command: string, user = ''): Promise<string> {
    const { Id } = await daemon.http.ok<{ Id: string }>('POST', '/containers/create', {
      Image: 'busybox',
      Labels: labels,
      User: user,
      Cmd: ['sh', '-c', command],
      HostConfig: { NetworkMode: 'host' },
    });
    await daemon.http.ok('POST', `/containers/${Id}/start`);
    return Id;
  }

  const inspect = (id: string) => daemon.http.ok<ContainerInspect>('GET', `/containers/${id}/json`);

  const text = async (path: string): Promise<string> => (await daemon.http.request('GET', path)).text;
  const logs = (id: string): Promise<string> => text(`/containers/${id}/logs?stdout=1&stderr=1`);

  /** Status of a request to the hub with a token. */
  const status = (token: string, path = '/repos/alice/app'): Promise<string> =>
    daemon.netns.run(
      'curl',
      '--silent',
      '--output',
      '/dev/null',
      '--write-out',
      '%{http_code}',
      '--noproxy',
      '*',
      '--header',
      `Authorization: Bearer ${token}`,
      `${URL}${path}`,
    );

  /** The token of a container that runs, read as its processes can. */
  const tokenOf = async (id: string): Promise<string> => {
    const { State } = await inspect(id);
    return await daemon.netns.run('cat', `/proc/${State.Pid}/root/run/berth/hub-token`);
  };

  it('the container itself calls the hub with its token, which is refused once it has ended', async () => {
    const id = await run(
      LABELS,
      'T=$(cat $BERTH_HUB_TOKEN_FILE); printf "GET /repos/$BERTH_HUB_REPOSITORY HTTP/1.0\r\n' +
        'Host: hub\r\nUser-Agent: t\r\nAuthorization: Bearer $T\r\n\r\n" | nc 127.0.0.1 5010 | head -1; ' +
        'echo $BERTH_HUB_URL; sleep 1000',
      '1000',
    );
    await until('it to have asked', async () => (await logs(id)).includes(URL));
    expect(await logs(id)).toContain('HTTP/1.1 200 OK');
    const token = await tokenOf(id);
    expect(token).toMatch(/^bhw_/);
    expect([await status(token), await status(token, '/repos/alice/other')]).toEqual(['200', '404']);
    const shown = [await inspect(id), await logs(id), await text(`/events?since=0&until=${untilNow()}`)];
    await daemon.http.ok('POST', `/containers/${id}/pause`);
    await daemon.http.ok('POST', `/commit?container=${id}&repo=made`);
    shown.push(await text('/images/made/get'), daemon.log());
    await daemon.http.ok('POST', `/containers/${id}/unpause`);
    expect(JSON.stringify(shown)).not.toContain(token);
    await daemon.http.ok('POST', `/containers/${id}/kill`);
    await until('the token to be revoked', async () => (await status(token)) === '401');
    // An image that was made of it has its labels, and gives nobody a token.
    const plain = await run({}, 'ls /run/berth/hub-token $BERTH_HUB_TOKEN_FILE');
    await daemon.http.ok('POST', `/containers/${plain}/wait`);
    expect(await logs(plain)).toContain('No such file');
    expect(await differences(daemon)).toEqual([]);
  });

  it('kill -9 of the daemon: the token of what runs on holds, that of what ended does not', async () => {
    const stays = await run(LABELS, 'sleep 1000');
    const ends = await run(LABELS, 'sleep 1000');
    const tokens = [await tokenOf(stays), await tokenOf(ends)];
    const { State } = await inspect(ends);
    await daemon.kill9();
    process.kill(State.Pid, 'SIGKILL');
    await daemon.restart();
    await until('the token to be revoked', async () => (await status(tokens[1] ?? '')) === '401');
    expect([await status(tokens[0] ?? ''), await tokenOf(stays)]).toEqual(['200', tokens[0]]);
    await daemon.http.ok('DELETE', `/containers/${stays}?force=1`);
    await until('the token to be revoked', async () => (await status(tokens[0] ?? '')) === '401');
    expect(await differences(daemon)).toEqual([]);
  });

  it.each([
    [{ 'berth.hub.token': 'app' }, 'label berth.hub.token=app: must be OWNER/REPOSITORY'],
    [{ 'berth.hub.token': 'alice/none' }, 'label berth.hub.token=alice/none: the hub has no such repository'],
    [
      { ...LABELS, 'berth.hub.permissions': 'all:write' },
      /^label berth.hub.permissions=all:write: permissions.all must be of metadata, /,
    ],
  ])('create with %j is refused', async (labels, message) => {
    const body = { Image: 'busybox', Labels: labels };
    const answer = await daemon.http.request('POST', '/containers/create', { body });
    expect([answer.status, Object(answer.json).message]).toEqual([
      400,
      message instanceof RegExp ? expect.stringMatching(message) : message,
    ]);
  });
});
