import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/engine/http.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { differences } from '../../support/engine/oracle.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** Two managers and two workers without a registry, driven by the docker CLI. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('images that only a manager has', () => {
  let swarm: TestSwarm;

  beforeAll(async () => {
    swarm = await TestSwarm.start(4, { armable: true });
    await swarm.init();
    await swarm.join(2, 'manager');
    await swarm.join(3, 'worker');
    await swarm.join(4, 'worker');
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  const SERVICE = ['--detach=false', '--network', 'none', '--stop-grace-period', '0s'];
  /** Builds an image that says `text`, without a registry. */
  const build = async (node: number, name: string, text: string): Promise<string> => {
    const context = `${swarm.node(node).daemon.paths.root}/${name}`;
    mkdirSync(context, { recursive: true });
    writeFileSync(`${context}/said`, text);
    writeFileSync(`${context}/Dockerfile`, 'FROM busybox\nCOPY said /\nCMD cat /said && sleep 3600\n');
    await swarm.must(node, 'build', '--quiet', '--tag', name, context);
    return await idOf(node, name);
  };
  const idOf = async (node: number, name: string): Promise<string> => {
    const { code, out } = await swarm.docker(node, 'image', 'inspect', '--format', '{{.Id}}', name);
    return code === 0 ? out.trim() : '';
  };
  const idsOf = (name: string): Promise<string[]> =>
    Promise.all([1, 2, 3, 4].map((node) => idOf(node, name)));
  /** What the running tasks of a service on all nodes have said. */
  const said = async (service: string): Promise<string[]> => {
    const nodes = await Promise.all(
      [1, 2, 3, 4].map(async (node) => {
        const label = `label=com.docker.swarm.service.name=${service}`;
        const ids = (await swarm.must(node, 'ps', '--quiet', '--filter', label)).split('\n').filter(Boolean);
        return await Promise.all(ids.map((id) => swarm.must(node, 'logs', id)));
      }),
    );
    return nodes.flat();
  };

  test('docker build, service create: every node runs the image of the manager', async () => {
    const id = await build(1, 'web', 'first');
    const { err } = await swarm.docker(
      1,
      'service',
      'create',
      '--name',
      'web',
      '--mode',
      'global',
      ...SERVICE,
      'web',
    );
    expect(err).toContain('image web:latest could not be accessed on a registry to record');
    await until('all to say it', async () => (await said('web')).join() === 'first,first,first,first');
    expect(await idsOf('web')).toEqual([id, id, id, id]);
  });

  test('built again on another manager: an update brings the new image to every node', async () => {
    const id = await build(2, 'web', 'second');
    await swarm.must(1, 'service', 'update', '--detach=false', '--force', '--update-parallelism', '0', 'web');
    await until('all to say it', async () => (await said('web')).join() === 'second,second,second,second');
    expect(await idsOf('web')).toEqual([id, id, id, id]);
    await swarm.must(1, 'service', 'rm', 'web');
  });

  test('an image by its id: it comes without a name', async () => {
    const id = await build(2, 'anonymous', 'id');
    await swarm.must(1, 'service', 'create', '--name', 'id', '--mode', 'global', ...SERVICE, id);
    expect(await idsOf(id)).toEqual([id, id, id, id]);
    expect(await idsOf('anonymous')).toEqual(['', id, '', '']);
    await swarm.must(1, 'service', 'rm', 'id');
  });

  test('the manager dies while it sends: the task is tried again, and comes up when it is back', async () => {
    const { daemon } = swarm.node(2);
    const tar = busyboxImageTar({
      tags: ['large:1'],
      extraLayers: [[{ name: 'x', content: randomBytes(8e6) }]],
    });
    await daemon.http.ok('POST', '/images/load?quiet=1', tar);
    daemon.arm('swarm.images.piece=sigkill@5');
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'large',
      '--detach',
      '--network',
      'none',
      '--restart-delay',
      '500ms',
      '--constraint',
      'node.hostname==n3',
      'large:1',
      'sleep',
      '3600',
    );
    await daemon.ended();
    expect(await idOf(3, 'large:1')).toBe('');
    daemon.arm('');
    await daemon.restart();
    await until('the task to run', async () => {
      const out = await swarm.must(1, 'service', 'ps', '--format', '{{.CurrentState}} {{.Error}}', 'large');
      return out.includes('Running');
    });
    expect(await idOf(3, 'large:1')).toBe(await idOf(2, 'large:1'));
  });

  test('a node dies while it receives: when it is back the task comes up, and nothing is left', async () => {
    const { daemon } = swarm.node(4);
    daemon.arm('swarm.images.receive=sigkill@3');
    await swarm.must(1, 'service', 'update', '--detach', '--constraint-rm', 'node.hostname==n3', 'large');
    await swarm.must(1, 'service', 'update', '--detach', '--constraint-add', 'node.hostname==n4', 'large');
    await daemon.ended();
    daemon.arm('');
    await daemon.restart();
    await until('the task to run', async () => {
      const out = await swarm.must(1, 'service', 'ps', '--format', '{{.Node}} {{.CurrentState}}', 'large');
      return out.includes('n4 Running');
    });
    expect(await idOf(4, 'large:1')).toBe(await idOf(2, 'large:1'));
    await swarm.must(1, 'service', 'rm', 'large');
    await until('no container', async () => (await swarm.must(4, 'ps', '--all', '--quiet')) === '');
    expect(await differences(daemon)).toEqual([]);
  });

  test('one of two managers that have it dies while it sends: the same task gets it from the other', async () => {
    const tar = busyboxImageTar({
      tags: ['two:1'],
      extraLayers: [[{ name: 'y', content: randomBytes(8e6) }]],
    });
    // The one that named it last is asked first.
    await swarm.node(1).daemon.http.ok('POST', '/images/load?quiet=1', tar);
    const { daemon } = swarm.node(2);
    await daemon.http.ok('POST', '/images/load?quiet=1', tar);
    daemon.arm('swarm.images.piece=sigkill@5');
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'two',
      '--detach',
      '--network',
      'none',
      '--constraint',
      'node.hostname==n3',
      'two:1',
      'sleep',
      '3600',
    );
    await daemon.ended();
    daemon.arm('');
    await daemon.restart();
    await until('the task to run', async () => {
      const out = await swarm.must(1, 'service', 'ps', '--format', '{{.CurrentState}}', 'two');
      return /^Running [^\n]*$/.test(out);
    });
  });

  test('an image that nobody has: the task tells what the registry said', async () => {
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'none',
      '--detach',
      '--network',
      'none',
      'nobody/has:1',
    );
    await until('a task to be refused', async () => {
      const out = await swarm.must(1, 'service', 'ps', '--no-trunc', '--format', '{{.Error}}', 'none');
      return /No such image: nobody\/has:1/.test(out);
    });
  });
});
