import { mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ControlClient } from '../../support/buildkit/control-client.ts';
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
});
