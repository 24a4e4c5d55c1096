import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { empty } from '../../api/buildkit/proto/common.ts';
import { solveRequest, solveResponse } from '../../api/buildkit/proto/control.ts';
import {
  gatewaySolveRequest,
  gatewaySolveResponse,
  inputsResponse,
  readDirRequest,
  readDirResponse,
  readFileRequest,
  readFileResponse,
  resolveImageRequest,
  resolveImageResponse,
  returnRequest,
  statFileRequest,
  statFileResponse,
} from '../../api/buildkit/proto/gateway.ts';
import { RpcClient } from '../../api/buildkit/rpc/client.ts';
import type { ImageInspect } from '../../api/types/image.ts';
import { silentLogger as log } from '../../daemon/base/logger.ts';
import { operation } from '../../daemon/build/llb/messages.ts';
import { SessionServer } from '../support/buildkit/session-server.ts';
import { upgrade } from '../support/buildkit/upgrade.ts';
import { describeEngine } from '../support/engine/engine.ts';

const BRIDGE = '/moby.buildkit.v1.frontend.LLBBridge';
const { signal } = new AbortController();

/** A graph that ends in the last of these. */
function graph(...operations: Buffer[]): { def: Buffer[] } {
  return { def: [...operations, operation.encode({ inputs: on(operations.at(-1)) })] };
}

function on(...below: (Buffer | undefined)[]): { digest: string }[] {
  return below.map((bytes = Buffer.alloc(0)) => ({
    digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
  }));
}

describeEngine('graphs of clients (LLB)', (engine) => {
  test('a client makes a graph, reads of its result, and gives it a configuration', async () => {
    await using server = new SessionServer(engine.daemon.paths.root);
    await server.serve(
      await upgrade(engine.daemon.paths.socket, '/session', {
        'X-Docker-Expose-Session-Uuid': 'graph',
        'X-Docker-Expose-Session-Sharedkey': '',
        'X-Docker-Expose-Session-Grpc-Method': '/grpc.health.v1.Health/Check',
      }),
    );
    const client = new RpcClient(await upgrade(engine.daemon.paths.socket, '/grpc'), log);
    const metadata = new Map([['buildkit-controlapi-buildid', ['b1']]]);
    const ask = (method: string, request: Buffer): Promise<Buffer> =>
      client.unary(`${BRIDGE}/${method}`, request, { signal, metadata });
    const given = operation.encode({ source: { identifier: 'local://given' } });
    const caps = new Map([['source.local', true]]);
    const notes = { ignoreCache: true, description: new Map([['a', 'b']]), caps };
    const sent = { ...graph(given), metadata: new Map([[on(given)[0]?.digest ?? '', notes]]) };
    const frontendInputs = new Map([['base', { ...sent, source: { locations: new Map(), infos: [] } }]]);
    const exporters = [{ type: 'moby', attrs: new Map([['name', 'graph:1']]) }];
    const solved = client.unary(
      '/moby.buildkit.v1.Control/Solve',
      solveRequest.encode({ ref: 'b1', session: 'graph', exporters, frontendInputs }),
      { signal },
    );
    const inputs = inputsResponse.decode(await ask('Inputs', empty.encode({}))).definitions;
    expect(inputs.get('base')).toMatchObject(sent);
    const base = resolveImageResponse.decode(
      await ask('ResolveImageConfig', resolveImageRequest.encode({ ref: 'busybox' })),
    );
    expect(JSON.parse(String(base.config))).toMatchObject({ os: 'linux' });

    const image = operation.encode({
      source: { identifier: 'docker-image://docker.io/library/busybox:latest' },
    });
    const file = { path: '/d/text', mode: 0o640, data: Buffer.from('from a graph'), timestamp: -1n };
    const directory = { path: '/d', mode: 0o755, makesParents: true, timestamp: -1n };
    const files = operation.encode({
      inputs: on(image),
      file: {
        actions: [
          { input: 0, secondaryInput: -1, output: -1, makeDirectory: directory },
          { input: 1, secondaryInput: -1, output: 0, makeFile: file },
        ],
      },
    });
    const exec = operation.encode({
      inputs: on(files),
      exec: {
        meta: { args: ['/bin/sh', '-c', 'cp /d/text /d/copy && ln -s copy /d/link'], cwd: '/' },
        network: 2,
        mounts: [{ input: 0, dest: '/', output: 0 }],
      },
    });
    const definition = graph(image, files, exec);
    const made = gatewaySolveResponse.decode(
      await ask('Solve', gatewaySolveRequest.encode({ definition, allowResultReturn: true })),
    );
    const ref = made.result?.ref?.id ?? '';
    const read = async (path: string, range?: { offset: number; length: number }): Promise<string> =>
      String(
        readFileResponse.decode(
          await ask('ReadFile', readFileRequest.encode({ ref, path, ...(range && { range }) })),
        ).data,
      );
    expect(await read('/d/link')).toBe('from a graph');
    expect(await read('d/copy', { offset: 5, length: 3 })).toBe('a g');
    await expect(read('/d/none')).rejects.toThrow('open /d/none: no such file or directory');
    await expect(read('/d')).rejects.toThrow('read /d: is no file');
    await expect(read('/../../../../etc/hostname-of-the-host')).rejects.toThrow('no such file or directory');
    const { stat } = statFileResponse.decode(
      await ask('StatFile', statFileRequest.encode({ ref, path: '/d/text' })),
    );
    expect([String(stat?.path), stat?.mode, stat?.size]).toEqual(['text', 0o640, 12]);
    const { entries } = readDirResponse.decode(
      await ask('ReadDir', readDirRequest.encode({ ref, path: '/d', includePattern: '[cl]*' })),
    );
    expect(entries.map(({ path, linkName }) => `${String(path)} ${String(linkName)}`)).toEqual([
      'copy ',
      'link copy',
    ]);

    const config = {
      os: 'linux',
      architecture: 'amd64',
      config: { Cmd: ['cat', '/d/link'], Labels: { a: 'b' } },
    };
    const result = {
      ref: { id: ref },
      metadata: new Map([['containerimage.config', Buffer.from(JSON.stringify(config))]]),
    };
    await ask('Return', returnRequest.encode({ result }));
    const { exporterResponse } = solveResponse.decode(await solved);
    const inspected = await engine.http.ok<ImageInspect>('GET', '/images/graph:1/json');
    expect(exporterResponse.get('containerimage.digest')).toBe(inspected.Id);
    expect([inspected.Config?.Cmd, inspected.Config?.Labels]).toEqual([['cat', '/d/link'], { a: 'b' }]);
    const history = await engine.http.ok<unknown[]>('GET', '/images/graph:1/history');
    expect(history).toHaveLength(inspected.RootFS?.Layers?.length ?? 0);
    client.destroy();
  });

  test('a graph that fails names the step; one that cannot be done is refused by its name', async () => {
    await using server = new SessionServer(engine.daemon.paths.root);
    await server.serve(
      await upgrade(engine.daemon.paths.socket, '/session', {
        'X-Docker-Expose-Session-Uuid': 'failing',
        'X-Docker-Expose-Session-Grpc-Method': '/grpc.health.v1.Health/Check',
      }),
    );
    const client = new RpcClient(await upgrade(engine.daemon.paths.socket, '/grpc'), log);
    const solve = (ref: string, ...operations: Buffer[]): Promise<Buffer> =>
      client.unary(
        '/moby.buildkit.v1.Control/Solve',
        solveRequest.encode({ ref, session: 'failing', definition: graph(...operations) }),
        { signal },
      );
    const image = operation.encode({
      source: { identifier: 'docker-image://docker.io/library/busybox:latest' },
    });
    const exec = operation.encode({
      inputs: on(image),
      exec: {
        meta: { args: ['sh', '-c', 'exit 7'], cwd: '/' },
        network: 2,
        mounts: [{ input: 0, dest: '/', output: 0 }],
      },
    });
    await expect(solve('f1', image, exec)).rejects.toThrow(
      'process "sh -c exit 7" did not complete successfully: exit code: 7',
    );
    const build = operation.encode({ inputs: on(image), build: Buffer.from([]) });
    await expect(solve('f2', image, build)).rejects.toThrow('operations of kind build are not supported');
    client.destroy();
  });
});
