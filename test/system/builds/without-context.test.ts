import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { returnRequest } from '../../../api/buildkit/proto/gateway.ts';
import { ControlClient } from '../../support/buildkit/control-client.ts';
import { Bridge, GraphClient } from '../../support/buildkit/graph-client.ts';
import { definitionOf, mkfile, node, scratch } from '../../support/buildkit/graphs.ts';
import { SessionServer } from '../../support/buildkit/session-server.ts';
import { describeEngine } from '../../support/engine/engine.ts';

describeEngine('a client that offers no context', (engine) => {
  test('builds what needs none; what does is refused in its words', async () => {
    const folder = `${engine.daemon.paths.root}/session`;
    mkdirSync(folder);
    await using server = new SessionServer(folder);
    server.lacks.add('context');
    using client = new ControlClient(engine.daemon.paths.socket);
    const build = async (dockerfile: string): Promise<void> => {
      const content = Buffer.from(dockerfile);
      const stat = { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length };
      server.list = [{ stat, content }];
      await client.build(server, [{ type: 'moby' }]);
    };
    await build('FROM busybox\nRUN true\n');
    await expect(build('FROM busybox\nCOPY a /\n')).rejects.toThrow('no access allowed to dir "context"');
  });

  test('is told so when it reads or returns what it asked for, unless it wants to know at once', async () => {
    await using client = await new GraphClient(engine.daemon).open();
    client.server.lacks.add('context');
    const definition = definitionOf(node({ source: { identifier: 'local://context' } }));
    const words = 'no access allowed to dir "context"';
    await client.build(async (asking) => {
      const missing = await asking.request({ definition, evaluate: false });
      await expect(missing.text('.dockerignore')).rejects.toThrow(words);
      await expect(missing.evaluate()).rejects.toThrow(words);
      await expect(asking.request({ definition })).rejects.toThrow(words);
      const found = await asking.solve(scratch([mkfile('/x', 'after')]));
      expect(await found.text('/x')).toBe('after');
    });
    const ref = randomUUID();
    const returned = client.control({ ref });
    returned.catch(() => undefined /* looked at below */);
    const metadata = new Map([['buildkit-controlapi-buildid', [ref]]]);
    const bridge = new Bridge(ref, (method, asked) =>
      client.call(`/moby.buildkit.v1.frontend.LLBBridge/${method}`, asked, metadata),
    );
    const missing = await bridge.request({ definition, evaluate: false });
    await bridge.ask('Return', returnRequest.encode({ result: { ref: { id: missing.ref } } }));
    await expect(returned).rejects.toThrow(words);
  });
});
