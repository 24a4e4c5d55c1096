import { expect, test } from 'vitest';
import { gatewaySolveRequest, pongResponse, warnRequest } from '../../../api/buildkit/proto/gateway.ts';
import { empty } from '../../../api/buildkit/proto/common.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { GraphClient } from '../../support/buildkit/graph-client.ts';
import { busybox, definitionOf, mkfile, node, scratch, shell } from '../../support/buildkit/graphs.ts';
import { describeEngine } from '../../support/engine/engine.ts';

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
