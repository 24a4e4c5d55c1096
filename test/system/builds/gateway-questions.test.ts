import { expect, test } from 'vitest';
import { gatewaySolveRequest, pongResponse, warnRequest } from '../../../api/buildkit/proto/gateway.ts';
import { empty } from '../../../api/buildkit/proto/common.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { GraphClient } from '../../support/buildkit/graph-client.ts';
import {
  busybox,
  copy,
  definitionOf,
  mkfile,
  node,
  scratch,
  shell,
  type Node,
} from '../../support/buildkit/graphs.ts';
import { readTar, tar } from '../../support/images/tar.ts';
import { describeEngine } from '../../support/engine/engine.ts';

/** What a client gives as a stream, under this name. */
function stream(name: string): Node {
  const attrs = new Map([['http.filename', name]]);
  return node({ source: { identifier: 'http://buildkit-session/stream', attrs } });
}

/** An input of a frontend without notes. */
function input(def: Buffer[]) {
  return { def, metadata: new Map(), source: { locations: new Map(), infos: [] } };
}

describeEngine('questions of clients that are frontends', (engine) => {
  test('a question that is given up ends alone: its command ends, and the build goes on', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    await client.build(async (bridge) => {
      const updates = client.updates(bridge.ref);
      const stop = new AbortController();
      const command = shell('echo begun; sleep 1000', [], busybox);
      const request = gatewaySolveRequest.encode({
        definition: definitionOf(command),
        allowResultReturn: true,
      });
      const given = bridge.ask('Solve', request, stop.signal);
      given.catch(() => undefined /* looked at below */);
      await updates.until(({ logs }) => logs.some(({ data }) => String(data) === 'begun\n'));
      stop.abort(new EngineError('canceled', 'given up'));
      await expect(given).rejects.toThrow('given up');
      await updates.until(({ vertexes }) => vertexes.some(({ error }) => error.includes('canceled')));
      const found = await bridge.solve(scratch([mkfile('/x', 'after')]));
      expect(await found.text('/x')).toBe('after');
    });
  });

  test('what a client warns of is told to all who look', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    await client.build(async (bridge) => {
      const updates = client.updates(bridge.ref);
      const [pong, position] = [
        pongResponse.decode(await bridge.ask('Ping', empty.encode({}))),
        { line: 2, character: 0 },
      ];
      expect(pong.frontend).toContainEqual({ id: 'gateway.warnings', enabled: true });
      for (const id of ['exporter.session', 'gc.freespacefilter', 'source.policy.session']) {
        expect(pong.llb).toContainEqual({ id, enabled: true });
      }
      const warning = {
        vertex: 'sha256:v',
        level: 2,
        short: Buffer.from('careful'),
        detail: [Buffer.from('why')],
        url: 'https://page',
        info: { filename: 'f', data: Buffer.from('a\nb'), language: 'X' },
        ranges: [{ start: position, end: position }],
      };
      await bridge.ask('Warn', warnRequest.encode(warning));
      const { warnings } = await updates.until((update) => update.warnings.length > 0);
      expect(warnings).toEqual([warning]);
      const wide = { ...warning, ranges: [{ start: position, end: { line: 2 ** 31, character: 0 } }] };
      await expect(bridge.ask('Warn', warnRequest.encode(wide))).rejects.toThrow(
        'ranges: more than 10000 lines',
      );
    });
  });

  test('a stream of a session comes once, for several graphs and for the Dockerfile in it', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    const context = tar([
      { name: 'Dockerfile', content: Buffer.from('FROM scratch\nCOPY a /b\n') },
      { name: 'a', content: Buffer.from('one') },
    ]);
    client.server.uploads.set('stream', Buffer.from('one')).set('context', context);
    await client.build(async (bridge) => {
      const [first, second] = await Promise.all([bridge.solve(stream('x')), bridge.solve(stream('y'))]);
      expect([await first.text('/x'), await second.text('/y')]).toEqual(['one!', 'one!']);
      const copied = await bridge.solve(scratch([copy('/x', '/z', {}, 0)], stream('x')));
      expect(await copied.text('/z')).toBe('one!');
      const frontendOpt = new Map([['context', 'http://buildkit-session/context']]);
      for (const target of ['', '0']) {
        const request = {
          frontend: 'dockerfile.v0',
          frontendOpt: new Map([...frontendOpt, ['target', target]]),
        };
        expect(await (await bridge.request(request)).text('/b')).toBe('one');
      }
      const gone = node({ source: { identifier: 'http://buildkit-session/other' } });
      await expect(bridge.solve(gone)).rejects.toThrow('no http response from session for other');
    });
    // Another build of the same session.
    await client.solved(stream('x'), async (found) => expect(await found.text('/x')).toBe('one!'));
  });

  test('Dockerfile and context may be inputs, each by itself: what is none is a directory of the client', async () => {
    const text = Buffer.from('FROM scratch\nCOPY a /b\n');
    const local = Buffer.from('local');
    const dockerfile = scratch([mkfile('/Dockerfile', String(text))]);
    const context = scratch([mkfile('/a', 'input')]);
    const cases = [
      [{ context }, 'input'],
      [{ dockerfile }, 'local'],
      [{ context, dockerfile }, 'input'],
    ] as const;
    for (const [inputs, expected] of cases) {
      await using client = await new GraphClient(engine.daemon).open();
      client.server.list = [
        { stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: text.length }, content: text },
        { stat: { path: Buffer.from('a'), mode: 0o644, size: local.length }, content: local },
      ];
      const frontendInputs = new Map(
        Object.entries(inputs).map(([name, each]) => [name, input(definitionOf(each).def)]),
      );
      await client.build(async (bridge) => {
        const made = await bridge.request({ frontend: 'dockerfile.v0', frontendInputs });
        expect(await made.text('/b')).toBe(expected);
        const missing = new Map([['context', input([])]]);
        await expect(bridge.request({ frontend: 'dockerfile.v0', frontendInputs: missing })).rejects.toThrow(
          'invalid nil input definition to definition op',
        );
      });
    }
  });

  test('outputs that a client names when something is made are made besides, and all are told in the end', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    const { server } = client;
    const content = Buffer.from('FROM scratch\nCOPY Dockerfile /\n');
    server.list = [{ stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length }, content }];
    const exporters = [{ type: 'moby', attrs: new Map([['name', 'late:1']]) }];
    const request = { frontend: 'dockerfile.v0', exporters, enableSessionExporter: true };
    const without = await client.control(request);
    expect(without.get('image.name')).toContain('late:1');
    expect(server.sends).toEqual([]);
    server.further = [{ type: 'tar', attrs: new Map() }];
    const told = await client.control(request);
    expect(told.get('image.name')).toContain('late:1');
    expect(server.sends.map(({ bytes }) => [...readTar(bytes).keys()])).toEqual([['Dockerfile']]);
    expect(server.finalized).toEqual([without, told]);
    const [found] = server.found;
    expect(found?.refs).toEqual([told.get('containerimage.digest')]);
    expect(JSON.parse(String(found?.metadata.get('containerimage.config')))).toMatchObject({ os: 'linux' });
    server.further = [{ type: 'nowhere', attrs: new Map() }];
    await expect(client.control(request)).rejects.toThrow('exporter "nowhere" could not be found');
    expect(server.finalized).toHaveLength(2);
    await engine.http.ok('DELETE', '/images/late:1');
  });

  test('a directory comes once for one session, though its client has no key and its result is in use', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    const content = Buffer.from('one');
    client.server.list = [{ stat: { path: Buffer.from('a'), mode: 0o644, size: content.length }, content }];
    await client.build(async (bridge) => {
      for (const unique of ['1', '2']) {
        const attrs = new Map([['local.unique', unique]]);
        const found = await bridge.solve(node({ source: { identifier: 'local://context', attrs } }));
        expect(await found.text('/a')).toBe('one');
      }
    });
    expect(client.server.copies.map(({ asked }) => asked)).toEqual([['a'], []]);
  });
});
