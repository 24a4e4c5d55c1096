import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ProgressMessage } from '../../../api/types/image.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { jsonLines } from '../../support/engine/http.ts';
import { tar } from '../../support/images/tar.ts';
import { WebServer } from '../../support/registry/web.ts';

const UPLINK = 94;
const HOST = `10.${UPLINK}.0.1`;
const ARCHIVE = gzipSync(tar([{ name: 'bin/proof', content: 'x'.repeat(100_000) }]));

describeEngine(
  'import from a URL',
  (engine) => {
    let web: WebServer;
    beforeAll(async () => {
      web = await WebServer.start(HOST);
    });
    afterAll(() => web[Symbol.asyncDispose]());

    const importFrom = (source: string): ReturnType<typeof engine.http.request> =>
      engine.http.request(
        'POST',
        `/images/create?fromSrc=${encodeURIComponent(source)}&repo=fetched&tag=1&message=note`,
      );

    test('import: what a URL has becomes an image, and clients draw a bar', async () => {
      const url = web.file('/root.tgz', ARCHIVE, {});
      const { status, text } = await importFrom(url);
      expect(status).toBe(200);
      const messages = jsonLines(text) as ProgressMessage[];
      expect(messages[0]).toEqual({ status: `Downloading from ${url}` });
      expect(messages.some((message) => message.status === 'Importing' && message.progress !== '')).toBe(
        true,
      );
      const { Id, Comment } = await engine.http.ok<{ Id: string; Comment: string }>(
        'GET',
        '/images/fetched:1/json',
      );
      expect(messages.at(-1)?.status).toBe(Id);
      expect(Comment).toBe('note');
    });

    test('import: a source without scheme is a host', async () => {
      const url = web.file('/plain.tar', tar([{ name: 'f', content: 'f' }]), {});
      expect((await importFrom(url.replace('http://', ''))).text).toContain('sha256:');
    });

    test.each<[string, () => string, number, RegExp]>([
      ['nothing there', () => web.url('/nothing'), 404, /404 Not Found/],
      [
        'another scheme',
        () => 'file:///etc/passwd',
        onReference ? 500 : 400,
        /file:\/\/\/etc\/passwd|unsupported protocol/,
      ],
      ['no address', () => 'http://[', 400, /fromSrc|parse/],
    ])('import: %s is an error before anything is made', async (_what, source, status, message) => {
      const answer = await importFrom(source());
      expect(answer.status).toBe(status);
      expect(answer.text).toMatch(message);
    });

    test('import: what is no tar leaves nothing', async () => {
      const before = await engine.http.ok<unknown[]>('GET', '/images/json?all=1');
      const { text } = await importFrom(web.file('/text', 'no tar at all\n'.repeat(100), {}));
      expect(text).toContain('error');
      expect(await engine.http.ok<unknown[]>('GET', '/images/json?all=1')).toHaveLength(before.length);
    });
  },
  { uplink: UPLINK },
);
