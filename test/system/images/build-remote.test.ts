import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { readBuilt, type Built } from '../../support/images/built.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { tar } from '../../support/images/tar.ts';
import { WebServer } from '../../support/registry/web.ts';

const UPLINK = 93;
const HOST = `10.${UPLINK}.0.1`;
const DOCKERFILE = 'FROM busybox\nCOPY f /f\nRUN cat /f\n';
const BARE = 'FROM busybox\nRUN echo bare\n';
const PLAIN = { 'content-type': 'text/plain; charset=utf-8' };

function context(more: Parameters<typeof tar>[0] = []): Buffer {
  return tar([
    { name: 'Dockerfile', content: DOCKERFILE },
    { name: 'f', content: 'from the web\n' },
    ...more,
  ]);
}

describeEngine(
  'build from elsewhere',
  (engine) => {
    let web: WebServer;
    beforeAll(async () => {
      web = await WebServer.start(HOST);
    });
    afterAll(() => web[Symbol.asyncDispose]());
    afterEach(async () => {
      await engine.removeAll();
      await engine.removeImages();
      await expect.poll(leftovers).toEqual([]);
    });

    const leftovers = (): string[] => {
      const temporary = path.join(engine.daemon.paths.dataRoot, 'tmp');
      return onReference || !existsSync(temporary) ? [] : readdirSync(temporary);
    };
    const build = async (remote: string, query = ''): Promise<Built> => {
      const where = `/build?remote=${encodeURIComponent(remote)}&${query}`;
      return readBuilt(await engine.http.request('POST', where));
    };

    test.each<[string, string, Buffer | string, Record<string, string>]>([
      ['a tar', '/c.tar', context(), { 'content-type': 'application/x-tar' }],
      ['a tar without type', '/c', context(), {}],
      ['a tar of gzip', '/c.tgz', gzipSync(context()), { 'content-type': 'application/gzip' }],
      [
        'a tar of xz',
        '/c.txz',
        execFileSync('xz', ['-c'], { input: context() }),
        { 'content-type': 'application/octet-stream' },
      ],
    ])('build: %s by URL', async (_what, pathname, body, headers) => {
      const { text, error } = await build(web.file(pathname, body, headers));
      expect(error).toBe('');
      expect(text).toContain('from the web\n');
    });

    test.each<[string, Record<string, string>]>([
      ['as text', PLAIN],
      ['without type', {}],
      ['as an octet stream', { 'content-type': 'application/octet-stream' }],
    ])('build: a Dockerfile by URL, %s, has no context', async (_what, headers) => {
      expect((await build(web.file('/Dockerfile', BARE, headers))).text).toContain('bare\n');
      expect((await build(web.file('/Dockerfile', DOCKERFILE, headers))).error).toContain(
        'missing build context',
      );
    });

    test('build: a URL leads on, but not for ever', async () => {
      web.file('/there', BARE, PLAIN);
      expect((await build(web.redirect('/here', '/there'))).error).toBe('');
      const { status, error } = await build(web.redirect('/round', '/round'));
      expect({ status, error }).toEqual({
        status: 500,
        error: expect.stringContaining('stopped after 10 redirects') as string,
      });
    });

    test.each<[string, () => string, number, string]>([
      ['nothing there', () => web.url('/nothing'), 404, 'with status 404 Not Found: nothing here'],
      ['nobody there', () => `http://${HOST}:1/x`, 500, 'refused'],
      [
        'another kind of file',
        () => web.file('/page', '<html>', { 'content-type': 'text/html' }),
        onReference ? 500 : 400,
        'unsupported Content-Type \\"text/html\\"',
      ],
      ['an empty answer', () => web.file('/empty', '', PLAIN), onReference ? 500 : 400, 'empty response'],
      ['no address', () => 'nonsense', onReference ? 500 : 400, 'could not be recognized as URL'],
      ['a local file', () => 'file:///etc/passwd', onReference ? 500 : 400, 'could not be recognized as URL'],
    ])('build: %s is an error', async (_what, remote, status, message) => {
      const answer = await build(remote());
      expect(answer).toMatchObject({ status, text: '', error: expect.stringContaining(message) as string });
    });

    test.skipIf(onReference)(
      'class 21: a password in a URL goes to its host only, and nowhere else',
      async () => {
        await using other = await WebServer.start(HOST);
        other.file('/Dockerfile', BARE, PLAIN);
        const from = web.redirect('/moved', other.url('/Dockerfile')).replace('//', '//someone:secret@');
        expect((await build(from)).error).toBe('');
        const basic = `Basic ${Buffer.from('someone:secret').toString('base64')}`;
        expect(web.asked.at(-1)).toBe(`GET /moved ${basic}`);
        expect(other.asked).toEqual(['GET /Dockerfile']);
        const { error } = await build(web.url('/nothing').replace('//', '//someone:secret@'));
        expect(error).not.toContain('secret');
        expect(engine.daemon.log()).not.toContain('secret');
      },
    );

    const FILES = 'cd /dest && stat -c "%n %a %u:%g %s %Y" *';

    test('ADD: a URL becomes a file of its own name, mode, time and owner', async () => {
      const packed = gzipSync(context());
      const first = web.file('/some/one.txt', 'one\n', { 'last-modified': 'Wed, 21 Oct 2015 07:28:00 GMT' });
      const archive = web.file('/two.tar.gz', packed);
      const named = web.file('/get', 'three', { 'content-disposition': 'attachment; filename="three"' });
      web.file('/slash/', 'four', { 'content-disposition': 'attachment; filename=four.txt' });
      const lines = [
        'FROM busybox',
        `ARG BASE=${web.url('')}`,
        `ADD ${first} ${archive} /dest/`,
        `ADD ${named} /dest/renamed`,
        'ADD ${BASE}/slash/ /dest/',
        `ADD --chown=3:4 ${first}?query=1#fragment /dest/owned`,
        `ADD ${first} /dest`,
        `RUN ${FILES}`,
      ];
      const { text, error } = await build(web.file('/Dockerfile', `${lines.join('\n')}\n`, PLAIN));
      // dockerd takes a Dockerfile by URL for a build without any sources.
      expect(error).toBe('');
      expect(text).toContain(
        [
          'four.txt 600 0:0 4 0',
          'one.txt 600 0:0 4 1445412480',
          'owned 600 3:4 4 1445412480',
          'renamed 600 0:0 5 0',
          `two.tar.gz 600 0:0 ${packed.length} 0`,
          '',
        ].join('\n'),
      );
    });

    test('ADD: a repository by URL is a file like others, as its server gives it', async () => {
      const url = web.file('/some/repository.git', 'of the server');
      const dockerfile = `FROM busybox\nADD ${url} /dest/\nRUN cat /dest/repository.git\n`;
      const { text, error } = await build(web.file('/Dockerfile', dockerfile, PLAIN));
      expect(error).toBe('');
      expect(text).toContain('of the server');
      expect(web.asked).toContain('GET /some/repository.git');
    });

    test('ADD: what a URL brings decides about the cache, not its address or time', async () => {
      const dockerfile = (pathname: string): string =>
        web.file('/Dockerfile', `FROM busybox\nADD ${web.url(pathname)} /f\nRUN cat /f\n`, PLAIN);
      web.file('/a/f', 'same', { 'last-modified': 'Wed, 21 Oct 2015 07:28:00 GMT' });
      web.file('/b/f', 'same');
      await build(dockerfile('/a/f'));
      expect((await build(dockerfile('/b/f'))).text).toContain('Using cache');
      web.file('/b/f', 'else');
      expect((await build(dockerfile('/b/f'))).text).not.toContain('Using cache');
    });

    test.each<[string, (url: string) => string, string]>([
      ['nothing there', (url) => `ADD ${url}/nothing /f`, 'with status 404 Not Found'],
      ['no name for it', (url) => `ADD ${url}/unnamed/ /dest/`, 'cannot determine filename for source'],
      ['COPY of it', (url) => `COPY ${url}/unnamed/ /f`, "source can't be a URL for COPY"],
      ['an address of a repository by ssh', () => 'ADD git@example.com:a/b.git /f', 'missing build context'],
    ])('ADD: a URL with %s is an error', async (_what, line, message) => {
      web.file('/unnamed/', 'x');
      const remote = web.file('/Dockerfile', `FROM busybox\n${line(web.url(''))}\n`, PLAIN);
      expect((await build(remote)).error).toContain(message);
    });

    test.skipIf(onReference)('class 21: the name that a server gives a file leads nowhere', async () => {
      web.file('/plain/', 'x', {
        'content-disposition': 'attachment; filename="../../../../tmp/berth-owned"',
      });
      web.file('/dots/', 'x', { 'content-disposition': 'attachment; filename=".."' });
      web.file('/%2e%2e%2fberth-owned', 'x');
      const lines = [
        'FROM busybox',
        `ADD ${web.url('/plain/')} ${web.url('/x%2f..%2f..%2fberth-two')} /dest/`,
      ];
      web.file('/x%2f..%2f..%2fberth-two', 'x');
      const all = [...lines, 'RUN ls /dest /'].join('\n');
      const { text, error } = await build(web.file('/Dockerfile', all, PLAIN));
      expect(error).toBe('');
      expect(text).toContain('/dest:\nberth-owned\nberth-two\n');
      expect(existsSync('/tmp/berth-owned')).toBe(false);
      const dots = web.file('/Dockerfile', `FROM busybox\nADD ${web.url('/dots/')} /dest/\n`, PLAIN);
      expect((await build(dots)).error).toContain('cannot determine filename');
    });

    const repository = (name: string, ...more: string[][]): Promise<string> =>
      web.repository(
        name,
        {
          Dockerfile: 'FROM busybox\nCOPY . /all\nRUN cd /all && find . -type f | grep -v /.git/ | sort\n',
          'sub/Dockerfile': 'FROM busybox\nCOPY f /f\nRUN cat /f\n',
          'sub/f': 'below\n',
          link: '-> sub',
          up: '-> ../../../../etc',
          root: '-> /',
        },
        ...more,
      );

    test('build: a repository, its default branch, another, a tag, a commit', async () => {
      const url = await repository(
        'simple.git',
        ['checkout', '--quiet', '-b', 'master'],
        ['tag', 'v1'],
        ['checkout', '--quiet', '-b', 'other'],
        ['rm', '--quiet', 'sub/f'],
        ['commit', '--quiet', '--message=two'],
        ['checkout', '--quiet', 'master'],
      );
      const whole = './Dockerfile\n./sub/Dockerfile\n./sub/f\n';
      expect((await build(url)).text).toContain(whole);
      expect((await build(`${url}#v1`)).text).toContain(whole);
      const other = await build(`${url}#other`);
      expect(other.error).toBe('');
      expect(other.text).toContain('./Dockerfile\n./sub/Dockerfile\n');
      expect(other.text).not.toContain('./sub/f');
      const commit = execFileSync('git', ['rev-parse', 'other'], { cwd: web.repositoryPath('simple.git') });
      expect((await build(`${url}#${commit.toString().trim()}`)).error).toBe('');
      const missing = await build(`${url}#nope`);
      expect(missing.error).toContain("couldn't find remote ref nope");
    });

    test('build: a directory of a repository, also through a link in it', async () => {
      const url = await repository('directory.git', ['branch', 'master']);
      expect((await build(`${url}#main:sub`)).text).toContain('below\n');
      expect((await build(`${url}#:link`, 'nocache=1')).text).toContain('below\n');
      expect((await build(`${url}#:nope`)).error).toContain('nope');
      expect((await build(`${url}#:sub/f`)).error).toContain('not a directory');
    });

    test('build: .git is part of the context of a repository', async () => {
      const url = await web.repository(
        'kept.git',
        { Dockerfile: 'FROM busybox\nCOPY . /all\nRUN cat /all/.git/HEAD\n' },
        ['branch', 'master'],
      );
      expect((await build(`${url}#main`)).text).toContain('ref: refs/heads/main\n');
    });

    test('build: submodules come with a repository', async () => {
      const inner = await web.repository('inner.git', { inside: 'from the submodule\n' });
      const url = await web.repository(
        'outer.git',
        { Dockerfile: 'FROM busybox\nCOPY mod /mod\nRUN cat /mod/inside\n' },
        ['submodule', '--quiet', 'add', '--', inner, 'mod'],
        ['commit', '--quiet', '--message=two'],
        ['branch', 'master'],
      );
      const { text, error } = await build(url);
      expect(error).toBe('');
      expect(text).toContain('from the submodule\n');
    });

    test('build: a repository and its submodule on a plain web server', async () => {
      const plain = (name: string): string => {
        const directory = web.repositoryPath(name);
        const files = execFileSync('find', ['.git', '-type', 'f'], { cwd: directory });
        for (const file of files.toString().trim().split('\n')) {
          web.file(`/${name}/${file.slice('.git/'.length)}`, readFileSync(path.join(directory, file)));
        }
        return web.url(`/${name}`);
      };
      await web.repository('plain-inner.git', { inside: 'from the submodule\n' });
      await web.repository(
        'dumb.git',
        { 'sub/Dockerfile': 'FROM busybox\nCOPY mod /mod\nRUN cat /mod/inside\n' },
        ['submodule', '--quiet', 'add', '--', plain('plain-inner.git'), 'sub/mod'],
        ['commit', '--quiet', '--message=two'],
        ['tag', '--annotate', '--message=one', 'v1'],
      );
      const { text, error } = await build(`${plain('dumb.git')}#v1:sub`, 'nocache=1');
      expect(error).toBe('');
      expect(text).toContain('from the submodule\n');
    });

    test('class 21: a ref of git is no option of git', async () => {
      const url = await repository('refs.git', ['branch', 'master']);
      const { status, error } = await build(`${url}#--upload-pack=touch /tmp/berth-owned;:sub`);
      expect(error).toContain('invalid refspec: --upload-pack=touch /tmp/berth-owned;');
      expect(status).toBe(onReference ? 500 : 400);
      expect(existsSync('/tmp/berth-owned')).toBe(false);
    });

    test.skipIf(onReference)('class 21: a directory of a repository cannot lead out of it', async () => {
      const url = await repository('escape.git');
      for (const directory of ['../../..', 'up', 'root/etc', '/etc', 'sub/../../../../../etc']) {
        const { error } = await build(`${url}#:${directory}`, 'dockerfile=passwd');
        expect(error, directory).toMatch(/is not in the repository|Cannot locate specified Dockerfile/);
      }
      // The root of a clone is what `/` and `..` lead to.
      expect((await build(`${url}#:root/sub`, 'nocache=1')).text).toContain('below\n');
    });

    test.skipIf(onReference).each([['ext::sh -c touch% /tmp/berth-owned'], ['file:///etc'], ['/etc']])(
      'class 21: a submodule %s is not fetched',
      async (address) => {
        const url = await web.repository(
          'evil.git',
          {
            Dockerfile: BARE,
            '.gitmodules': `[submodule "m"]\n\tpath = m\n\turl = ${address}\n`,
          },
          // A link to a commit, as `submodule add` makes it.
          ['update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},m`],
          ['commit', '--quiet', '--message=two'],
        );
        expect((await build(url)).error).toContain('error initializing submodules');
        expect(existsSync('/tmp/berth-owned')).toBe(false);
      },
    );

    test.skipIf(onReference)(
      'class 21: nothing of a repository or of the host is executed by a clone',
      async () => {
        const url = await web.repository('hooks.git', {
          Dockerfile: 'FROM busybox\nCOPY . /all\nRUN cat /all/f; ls /all/.git/hooks || true\n',
          '.gitattributes': '* filter=evil\n',
          'hooks/post-checkout': '#!/bin/sh\ntouch /tmp/berth-owned\n',
          f: 'plain\n',
        });
        const { text, error } = await build(url);
        expect(error).toBe('');
        expect(text).toContain('plain\n');
        expect(existsSync('/tmp/berth-owned')).toBe(false);
      },
    );

    test.skipIf(onReference)('class 21: a password for a repository is not in the image', async () => {
      const lines = ['FROM busybox', 'COPY . /all', 'RUN grep -r someone /all/.git || echo clean'];
      const plain = await web.repository('secret.git', { Dockerfile: lines.join('\n') });
      const url = plain.replace('//', '//someone:secret@');
      expect((await build(url)).text).toContain('clean\n');
      expect((await build(`${url}#nope`)).error).not.toContain('secret@');
    });

    test.skipIf(onReference).each<[string, () => string, (() => boolean | Promise<boolean>)?]>([
      ['a download', () => web.stall('/slow.tar', context().subarray(0, 600))],
      ['a download that has not begun', () => web.on('/silent.tar', () => undefined)],
      [
        'FROM of a registry',
        () => {
          web.on('/v2/', () => undefined);
          return web.file('/Dockerfile', `FROM ${web.host}/silent:1\n`, PLAIN);
        },
        () => web.asked.at(-1) === 'GET /v2/',
      ],
      [
        'COPY of a context',
        () => {
          engine.daemon.arm('images.build.compose=hold');
          return web.file('/big.tar', context([{ name: 'big', content: Buffer.alloc(8_000_000) }]));
        },
        () => engine.daemon.reached('images.build.compose').then(() => true),
      ],
      [
        'ADD of a URL',
        () => {
          const slow = web.stall('/slow-file', 'x'.repeat(5000));
          return web.file('/Dockerfile', `FROM busybox\nADD ${slow} /f\n`, PLAIN);
        },
        () => web.asked.at(-1) === 'GET /slow-file',
      ],
      ['a clone', () => web.on('/slow.git/info/refs', () => undefined).replace('/info/refs', '')],
    ])('build: a client that leaves ends %s', async (_what, make, hasBegun) => {
      const remote = make();
      const stop = new AbortController();
      const before = web.asked.length;
      const images = await engine.http.ok('GET', '/images/json?all=1');
      const request = engine.http.request('POST', `/build?remote=${encodeURIComponent(remote)}`, {
        signal: stop.signal,
      });
      await until('the request', hasBegun ?? (() => web.asked.length > before));
      stop.abort();
      await expect(request).rejects.toThrow();
      await until('the connection to end', () => web.clients === 0);
      // Who is answered now is so after the daemon has seen that the other one left.
      await engine.http.ok('GET', '/_ping');
      engine.daemon.arm('');
      await until('the files to go', () => leftovers().length === 0);
      expect(await engine.http.ok('GET', '/images/json?all=1')).toEqual(images);
    });

    test.skipIf(onReference)(
      'build: a clone ends with its daemon, and the next one finds nothing of it',
      async () => {
        const remote = web.on('/dying.git/info/refs', () => undefined).replace('/info/refs', '');
        const before = web.asked.length;
        const request = engine.http.request('POST', `/build?remote=${encodeURIComponent(remote)}`);
        const failed = expect(request).rejects.toThrow();
        await until('the request', () => web.asked.length > before);
        await engine.daemon.kill9();
        await failed;
        await until('git to end', () => web.clients === 0);
        await engine.daemon.up();
        await expect.poll(leftovers).toEqual([]);
      },
    );
  },
  { uplink: UPLINK, armable: true, config: { 'insecure-registries': [`10.${UPLINK}.0.0/24`] } },
);
