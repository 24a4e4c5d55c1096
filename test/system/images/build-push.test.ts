import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ControlClient } from '../../support/buildkit/control-client.ts';
import { SessionServer } from '../../support/buildkit/session-server.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { ACCOUNT, TestRegistry } from '../../support/registry/registry.ts';

const DOCKERFILE = 'FROM busybox\nRUN echo pushed >/pushed && true\n';
const REPOSITORY = '127.0.0.1:5000/app';
const RIGHT = { username: ACCOUNT.username, secret: ACCOUNT.password };

describeEngine('built images that are pushed', (engine) => {
  let server: SessionServer;
  let client: ControlClient;
  let registry: TestRegistry;

  beforeAll(async () => {
    mkdirSync(`${engine.daemon.paths.root}/client`);
    server = new SessionServer(`${engine.daemon.paths.root}/client`);
    client = new ControlClient(engine.daemon.paths.socket);
    const content = Buffer.from(DOCKERFILE);
    server.list = [{ stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length }, content }];
    const enter = (...argv: string[]): string[] => engine.daemon.netns.enter(...argv);
    registry = await TestRegistry.start({ port: 5000, password: true, enter });
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
  });

  const build = async (attrs: Record<string, string>): Promise<ReadonlyMap<string, string>> =>
    await client.build(server, [{ type: 'image', attrs }]);
  /** What the registry has under a name comes back as the image that was built. */
  const comesBack = async (name: string, id: string | undefined): Promise<void> => {
    const auth = Buffer.from(JSON.stringify({ ...ACCOUNT })).toString('base64');
    const { status, text } = await engine.http.request('POST', `/images/create?fromImage=${name}`, {
      headers: { 'X-Registry-Auth': auth },
    });
    expect({ status, errors: text.match(/"error"/g) }).toEqual({ status: 200, errors: null });
    const { Id } = await engine.http.ok<{ Id: string }>('GET', `/images/${name}/json`);
    expect(Id).toBe(id);
  };

  test('under its names, with the credentials of the client; the image knows its digest', async () => {
    server.account = RIGHT;
    const told = await build({ name: `${REPOSITORY}:1,${REPOSITORY}:2`, push: 'true' });
    const id = told.get('containerimage.config.digest');
    const digest = told.get('containerimage.digest') ?? '';
    const { RepoDigests } = await engine.http.ok<{ RepoDigests: string[] }>(
      'GET',
      `/images/${REPOSITORY}:1/json`,
    );
    expect(RepoDigests).toEqual([`${REPOSITORY}@${digest}`]);
    await engine.http.ok('DELETE', `/images/${id}?force=1`);
    await comesBack(`${REPOSITORY}:2`, id);
    await engine.http.ok('DELETE', `/images/${id}?force=1`);
  });

  test('by its digest, without a name', async () => {
    server.account = RIGHT;
    const told = await build({ name: REPOSITORY, push: 'true', 'push-by-digest': 'true' });
    const id = told.get('containerimage.config.digest');
    await engine.http.ok('DELETE', `/images/${id}?force=1`);
    await comesBack(`${REPOSITORY}@${told.get('containerimage.digest')}`, id);
    await engine.http.ok('DELETE', `/images/${id}?force=1`);
    await expect(build({ name: `${REPOSITORY}:1`, push: 'true', 'push-by-digest': 'true' })).rejects.toThrow(
      `can't push tagged ref ${REPOSITORY}:1 by digest`,
    );
  });

  test('a registry that refuses fails the build; the image stays', async () => {
    server.account = { username: 'nobody', secret: 'wrong' };
    await expect(build({ name: `${REPOSITORY}:3`, push: 'true' })).rejects.toThrow(
      'unauthorized: authentication required',
    );
    await engine.http.ok('DELETE', `/images/${REPOSITORY}:3`);
  });
});
