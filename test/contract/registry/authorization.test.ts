import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { RegistryAuth } from '../../../api/types/image.ts';
import { FaultProxy } from '../../support/registry/fault-proxy.ts';
import { collect, ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { fileLayer, publish, type PublishedImage } from '../../support/registry/registry-content.ts';
import { ACCOUNT, TestRegistry } from '../../support/registry/registry.ts';
import { REFRESH_TOKEN, TokenServer } from '../../support/registry/token-server.ts';

const BASIC = `Basic ${Buffer.from(`${ACCOUNT.username}:${ACCOUNT.password}`).toString('base64')}`;

function pullWith(rig: ImagesRig, name: string, auth: RegistryAuth): Promise<unknown> {
  const signal = new AbortController().signal;
  return collect(rig.images.pull({ name, tag: '1', auth, signal }));
}

needs('docker-registry')('pull from a registry with passwords', () => {
  let registry: TestRegistry;
  let rig: ImagesRig;
  let image: PublishedImage;
  beforeAll(async () => {
    registry = await TestRegistry.start({ port: 0, password: true });
    rig = await ImagesRig.create();
    image = await publish(`http://${registry.address}`, 'app:1', [fileLayer('a', 'one')], {
      authorization: BASIC,
    });
  });
  afterAll(async () => {
    await rig[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
  });

  it('takes the right one', async () => {
    await pullWith(rig, `${registry.address}/app`, ACCOUNT);
    expect((await rig.images.inspect(image.id)).Id).toBe(image.id);
  });

  it.each([
    ['none', {}, 'no basic auth credentials'],
    ['a wrong one', { ...ACCOUNT, password: 'guessed' }, 'unauthorized: authentication required'],
  ])('refuses %s in dockerd’s words', async (_title, auth, message) => {
    await expect(pullWith(rig, `${registry.address}/app`, auth)).rejects.toMatchObject({
      code: 'remote',
      message: expect.stringContaining(message) as string,
    });
  });
});

needs('docker-registry')('pull from a registry with tokens', () => {
  let server: TokenServer;
  let registry: TestRegistry;
  let proxy: FaultProxy;
  let rig: ImagesRig;
  let image: PublishedImage;
  beforeAll(async () => {
    server = await TokenServer.start();
    const open = await TestRegistry.start({ port: 0 });
    const { realm, certificate } = server;
    // Filled while everybody may write.
    image = await publish(`http://${open.address}`, 'app:1', [fileLayer('a', 'one'), fileLayer('b', 'two')]);
    registry = await TestRegistry.start({ port: 0, token: { realm, certificate }, store: open });
    proxy = await FaultProxy.start(registry.address);
    rig = await ImagesRig.create();
    await open[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    server.asked.length = 0;
    proxy.reset();
    await rig.images.remove(image.id, { force: true, noprune: false });
  });
  afterAll(async () => {
    await rig[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it.each([
    ['nobody, where everybody may read', {}, ''],
    ['a password', ACCOUNT, ACCOUNT.username],
    ['an identity token', { identityToken: REFRESH_TOKEN }, ACCOUNT.username],
  ])('asks for one token for %s', async (_title, auth, account) => {
    await pullWith(rig, `${registry.address}/app`, auth);
    expect(server.asked).toEqual([{ account, scopes: ['repository:app:pull'] }]);
  });

  it('R42: asks for another token when the first has expired on the way', async () => {
    const second = image.layers[1]?.digest ?? '';
    const headers = {
      'www-authenticate': `Bearer realm="${server.realm}",service="berth",error="invalid_token"`,
    };
    proxy.plan = ({ path }, nth) =>
      path.endsWith(second) && nth === 1 ? { kind: 'answer', status: 401, headers } : undefined;
    await pullWith(rig, `${proxy.address}/app`, ACCOUNT);
    expect(server.asked).toHaveLength(2);
  });
});
