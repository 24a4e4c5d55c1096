import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Server } from 'ssh2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must, runClient, type Said } from '../../support/buildkit/run-client.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { tar } from '../../support/images/tar.ts';
import { WebServer } from '../../support/registry/web.ts';
import { hasTrixie, inTrixie } from '../../support/trixie.ts';

const UPLINK = 88;
const HOST = `10.${UPLINK}.0.1`;

const DOCKERFILE = 'FROM busybox\nCOPY . /c\nCMD ["find", "/c", "-type", "f"]\n';
const FILES = { Dockerfile: DOCKERFILE, '.dockerignore': '*.log\n', 'kept/a': 'a', 'gone.log': 'x' };

describeEngine(
  "contexts of BuildKit's clients",
  (engine) => {
    let web: WebServer;
    let url: string;
    const root = (): string => engine.daemon.paths.root;
    const run = (file: string, args: readonly string[], input?: Buffer | string): Promise<Said> =>
      runClient(engine.daemon, [file, ...args], {
        env: { BUILDX_BAKE_ENTITLEMENTS_FS: '0' },
        ...(input !== undefined && { input }),
      });
    type Client = (args: readonly string[], input?: Buffer | string) => Promise<Said>;
    const old: Client = (args, input) => run('/usr/bin/docker', args, input);
    const today: Client = (args, input) => {
      const [file, ...rest] = inTrixie('docker', ...args);
      return run(file, rest, input);
    };
    const printed = async (image: string): Promise<string> =>
      (await must(old(['run', '--rm', '--network', 'none', image]))).out;
    const folder = (name: string, files: Readonly<Record<string, string>>): string => {
      const made = `${root()}/${name}`;
      mkdirSync(made, { recursive: true });
      for (const [file, content] of Object.entries(files)) {
        const place = `${made}/${file}`;
        mkdirSync(place.slice(0, place.lastIndexOf('/')), { recursive: true });
        writeFileSync(place, content);
      }
      return made;
    };

    beforeAll(async () => {
      web = await WebServer.start(HOST);
      url = await web.repository('one.git', { ...FILES, 'sub/Dockerfile': DOCKERFILE, 'sub/b': 'b' });
    });
    afterAll(async () => {
      await web[Symbol.asyncDispose]();
    });

    const CLIENTS: [name: string, client: Client][] = [
      ['docker CLI 20.10', old],
      ...(hasTrixie() ? [['docker buildx', today] satisfies [string, Client]] : []),
    ];

    const policed = async (...rules: object[]): Promise<Said> => {
      const policy = JSON.stringify({ version: 1, rules });
      const made = folder('policy', { Dockerfile: 'FROM old\nRUN true\n', 'policy.json': policy });
      return await runClient(engine.daemon, inTrixie('docker', 'build', '--progress=plain', made), {
        env: { EXPERIMENTAL_BUILDKIT_SOURCE_POLICY: `${made}/policy.json` },
      });
    };

    test.runIf(hasTrixie())(
      'docker buildx: a policy of sources denies, and puts one in place of another',
      async () => {
        const DENY = 'docker-image://docker.io/library/busybox:latest';
        const convert = {
          action: 'CONVERT',
          selector: { identifier: 'docker-image://docker.io/library/old:*', match_type: 'WILDCARD' },
          updates: { identifier: 'docker-image://docker.io/library/busybox:${1}' },
        };
        const deny = { action: 'DENY', selector: { identifier: DENY, match_type: 'EXACT' } };
        const { err } = await must(policed(convert));
        expect(err).toContain('[internal] load metadata for docker.io/library/old:latest');
        expect(err).toContain('[1/2] FROM docker.io/library/busybox:latest');
        expect((await policed(convert, deny)).err).toContain(
          ': old: failed to resolve source metadata for docker.io/library/old:latest: ' +
            `could not resolve image due to policy: source "${DENY}" denied by policy: source denied by policy`,
        );
      },
    );

    test.each(CLIENTS)('%s: a repository, its .dockerignore, a directory of it', async (_name, client) => {
      await must(client(['build', '-t', 'git:1', url]));
      expect((await printed('git:1')).split('\n').toSorted().join(' ')).toBe(
        ' /c/.dockerignore /c/Dockerfile /c/kept/a /c/sub/Dockerfile /c/sub/b',
      );
      await must(client(['build', '-t', 'git:2', `${url}#main:sub`]));
      expect((await printed('git:2')).split('\n').toSorted().join(' ')).toBe(' /c/Dockerfile /c/b');
      const kept = ['--build-arg', 'BUILDKIT_CONTEXT_KEEP_GIT_DIR=1'];
      await must(client(['build', ...kept, '-t', 'git:3', url]));
      expect(await printed('git:3')).toContain('/c/.git/HEAD');
      const { code, err } = await client(['build', `${url}#missing`]);
      expect(code).toBe(1);
      expect(err).toContain('missing');
    });

    test.each(CLIENTS)('%s: a tar, a Dockerfile, and neither by HTTP', async (_name, client) => {
      const members = Object.entries(FILES).map(([name, content]) => ({ name, content }));
      await must(client(['build', '-t', 'web:1', web.file('/c.tar', tar(members))]));
      expect((await printed('web:1')).split('\n').toSorted().join(' ')).toBe(
        ' /c/.dockerignore /c/Dockerfile /c/kept/a',
      );
      await must(
        client(['build', '-t', 'web:2', web.file('/Dockerfile', 'FROM busybox\nCMD ["echo","web"]\n')]),
      );
      expect(await printed('web:2')).toBe('web\n');
      const { code, err } = await client(['build', web.url('/nothing')]);
      expect(code).toBe(1);
      expect(err).toContain('404');
    });

    test.each(CLIENTS)('%s: a tar and a Dockerfile from standard input', async (_name, client) => {
      const members = Object.entries(FILES).map(([name, content]) => ({ name, content }));
      await must(client(['build', '-t', 'in:1', '-'], tar(members)));
      expect(await printed('in:1')).toContain('/c/kept/a\n');
      await must(client(['build', '-t', 'in:2', '-'], 'FROM busybox\nCMD ["echo","in"]\n'));
      expect(await printed('in:2')).toBe('in\n');
      await must(
        client(['build', '-t', 'in:3', '-f', 'kept/a', '-'], tar([{ name: 'kept/a', content: DOCKERFILE }])),
      );
      expect(await printed('in:3')).toBe('/c/kept/a\n');
    });

    const trixie = hasTrixie() ? test : test.skip;

    trixie('docker buildx: a Dockerfile by URL, and one from standard input for a repository', async () => {
      const named = web.file('/other.Dockerfile', DOCKERFILE);
      await must(today(['buildx', 'build', '-t', 'url:1', '-f', named, folder('url', { x: 'x' })]));
      expect(await printed('url:1')).toBe('/c/x\n');
      const repository = await web.repository('two.git', FILES);
      await must(
        today(['buildx', 'build', '-t', 'url:2', '-f', '-', repository], `${DOCKERFILE}LABEL a=b\n`),
      );
      expect(await printed('url:2')).toContain('/c/kept/a\n');
    });

    trixie(
      'docker buildx: named contexts: directories as bases, what they leave out, repositories, files',
      async () => {
        const base = folder('base', { '.dockerignore': 'no\n', yes: 'y', no: 'n' });
        const repository = await web.repository('three.git', { r: 'r' });
        const lines = [
          'FROM base AS middle',
          'COPY --from=repo r /r',
          'COPY --from=file file /file',
          'FROM busybox',
          'COPY --from=middle / /c',
          'CMD ["find", "/c", "-type", "f"]',
        ];
        const app = folder('named', { Dockerfile: lines.join('\n') });
        const contexts = { base, repo: repository, file: web.file('/dir/file', 'f') };
        const named = Object.entries(contexts).map(([name, value]) => `--build-context=${name}=${value}`);
        const { err } = await must(
          today(['buildx', 'build', '--progress=plain', ...named, '-t', 'named:1', app]),
        );
        expect(err).toContain('[context base] load .dockerignore');
        expect((await printed('named:1')).split('\n').toSorted().join(' ')).toBe(
          ' /c/.dockerignore /c/file /c/r /c/yes',
        );
        // All of the target is a directory.
        await must(
          today([
            'buildx',
            'build',
            `--build-context=only=${base}`,
            '-t',
            'named:2',
            folder('only', { Dockerfile: 'FROM only\n' }),
          ]),
        );
        const { out } = await must(
          old(['image', 'inspect', '--format', '{{len .RootFS.Layers}}', 'named:2']),
        );
        expect(out).toBe('1\n');
      },
    );

    trixie('docker buildx bake: the result of a target as the context of another, twice', async () => {
      const made = folder('bake', {
        'base/Dockerfile': 'FROM busybox\nENV MADE=by-base\nRUN echo base >/base\n',
        'app/Dockerfile': 'FROM base\nRUN cat /base >/app && echo $MADE >>/app\nCMD ["cat", "/app"]\n',
        'copy/Dockerfile': 'FROM busybox\nCOPY --from=base /base /got\nCMD ["cat", "/got"]\n',
        'docker-bake.hcl': [
          'group "default" { targets = ["app", "copy"] }',
          'target "base" { context = "base" }',
          'target "app" {',
          '  context = "app"',
          '  contexts = { base = "target:base" }',
          '  tags = ["bake:app"]',
          '}',
          'target "copy" {',
          '  context = "copy"',
          '  contexts = { base = "target:base" }',
          '  tags = ["bake:copy"]',
          '}',
        ].join('\n'),
      });
      const script = `cd ${made} && docker buildx bake --progress=plain`;
      const [file, ...args] = inTrixie('sh', '-ec', script);
      await must(run(file, args));
      expect(await printed('bake:app')).toBe('base\nby-base\n');
      expect(await printed('bake:copy')).toBe('base\n');
      await must(run(file, args));
      expect(await printed('bake:app')).toBe('base\nby-base\n');
    });

    trixie('docker buildx bake: its file from a repository', async () => {
      const bake = 'target "default" {\n  tags = ["bake:git"]\n}\n';
      const repository = await web.repository('bake.git', { ...FILES, 'docker-bake.hcl': bake });
      await must(today(['buildx', 'bake', '--progress=plain', repository]));
      expect(await printed('bake:git')).toContain('/c/kept/a\n');
    });

    trixie('docker compose build: a directory as the base of a service', async () => {
      const made = folder('compose', {
        'base/said': 'compose\n',
        'app/Dockerfile':
          'FROM base AS files\nFROM busybox\nCOPY --from=files /said /\nCMD ["cat", "/said"]\n',
        'compose.yaml': [
          'services:',
          '  app:',
          '    image: compose:app',
          '    build:',
          '      context: app',
          '      additional_contexts:',
          '        base: ./base',
        ].join('\n'),
      });
      const [file, ...args] = inTrixie('sh', '-ec', `cd ${made} && docker compose build`);
      await must(run(file, args));
      expect(await printed('compose:app')).toBe('compose\n');
    });

    test.each(CLIENTS)('%s: a key agent of the client, for its command alone', async (_name, client) => {
      const app = folder('ssh', {});
      const key = path.join(app, 'key');
      const socket = path.join(app, 'agent');
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'of the client', '-f', key]);
      const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
      try {
        await until('the agent listens', () => existsSync(socket));
        execFileSync('ssh-add', ['-q', key], {
          env: { ...process.env, SSH_AUTH_SOCK: socket },
          stdio: 'ignore',
        });
        rmSync(key);
        // A program that speaks to agents, and what it needs.
        const libraries =
          execFileSync('ldd', ['/usr/bin/ssh-add'], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
        for (const file of ['/usr/bin/ssh-add', ...libraries]) {
          mkdirSync(path.join(app, 'tree', path.dirname(file)), { recursive: true });
          copyFileSync(file, path.join(app, 'tree', file));
        }
        const lines = [
          'FROM busybox',
          'COPY tree /',
          'RUN --mount=type=ssh,mode=0640,uid=7,gid=8 \\',
          '  stat -c "%a %u %g %F" $SSH_AUTH_SOCK >/said && ssh-add -L | cut -d " " -f 1,3- >>/said',
          'RUN --mount=type=ssh,id=other test ! -e /run/buildkit',
          'CMD ["cat", "/said"]',
        ];
        writeFileSync(path.join(app, 'Dockerfile'), lines.join('\n'));
        writeFileSync(path.join(app, '.dockerignore'), 'agent\n');
        await must(client(['build', '--no-cache', '--ssh', `default=${socket}`, '-t', 'ssh:1', app]));
        expect(await printed('ssh:1')).toBe('640 7 8 socket\nssh-ed25519 of the client\n');
        const strict = 'FROM busybox\nRUN --mount=type=ssh,id=other,required true\n';
        const other = folder('strict', { Dockerfile: strict });
        const { code, err } = await client(['build', '--ssh', `default=${socket}`, other]);
        expect(code).toBe(1);
        expect(err).toContain('unset ssh forward key other');
      } finally {
        agent.kill();
        rmSync(app, { recursive: true });
      }
    });

    test.each(CLIENTS)('%s: a token of the client opens a repository', async (_name, client) => {
      const token = path.join(folder('token', {}), 'token');
      writeFileSync(token, 'of-the-client\n');
      await must(client(['build', '--secret', `id=GIT_AUTH_TOKEN,src=${token}`, '-t', 'token:1', url]));
      const basic = Buffer.from('x-access-token:of-the-client').toString('base64');
      expect(web.asked.at(-1)).toMatch(new RegExp(`^\\S+ /git/one.git/\\S+ [Bb]asic ${basic}$`));
      await must(client(['build', '-t', 'token:1', url]));
      expect(web.asked.at(-1)).toMatch(/^\S+ \/git\/one.git\/\S+$/);
    });

    test.each(CLIENTS)('%s: a key of the client opens a repository by ssh', async (_name, client) => {
      const app = folder('keys', {});
      const key = path.join(app, 'key');
      const hostKey = path.join(app, 'host');
      for (const file of [key, hostKey]) {
        execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-m', 'PEM', '-N', '', '-f', file]);
      }
      const users: string[] = [];
      const server = new Server({ hostKeys: [readFileSync(hostKey)] }, (connection) => {
        connection.on('authentication', (asked) => {
          users.push(`${asked.username} ${asked.method}`);
          if (asked.method === 'publickey') {
            asked.accept();
          } else {
            asked.reject(['publickey']);
          }
        });
        connection.on('session', (accept) => {
          accept().on('exec', (begin, _refuse, { command }) => {
            const stream = begin();
            expect(command).toBe("git-upload-pack '/one.git'");
            const child = spawn('git', ['upload-pack', web.repositoryPath('one.git')]);
            stream.pipe(child.stdin);
            child.stdout.pipe(stream, { end: false });
            child.once('close', (code) => {
              stream.exit(code ?? 1);
              stream.end();
            });
          });
        });
        connection.on('error', () => undefined /* git has ended it */);
      });
      await new Promise<void>((resolve) => {
        server.listen(0, HOST, resolve);
      });
      try {
        const { port } = server.address() as AddressInfo; // It listens on one.
        const add = `ADD ssh://git@${HOST}:${port}/one.git /c`;
        writeFileSync(path.join(app, 'Dockerfile'), `FROM busybox\n${add}\nCMD ["cat", "/c/kept/a"]\n`);
        writeFileSync(path.join(app, '.dockerignore'), 'key*\n');
        await must(client(['build', '--ssh', `default=${key}`, '-t', 'ssh:2', app]));
        expect(await printed('ssh:2')).toBe('a');
        expect(users).toContain('git publickey');
        const { code, err } = await client(['build', '--no-cache', app]);
        expect(code).toBe(1);
        expect(err).toContain('Permission denied (publickey)');
      } finally {
        server.close();
        rmSync(app, { recursive: true });
      }
    });

    test.each(CLIENTS)('%s: a commit is cloned once, as ADD and as a context', async (name, client) => {
      const repository = `cached-${CLIENTS.findIndex(([one]) => one === name)}.git`;
      const files = { Dockerfile: 'FROM busybox\nCOPY f /f\nCMD ["cat", "/f"]\n', f: 'first' };
      const remote = await web.repository(repository, files, ['tag', 'v1']);
      const git = (...args: string[]): string =>
        execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
          cwd: web.repositoryPath(repository),
          encoding: 'utf8',
        }).trim();
      const commit = git('rev-parse', 'v1');
      // Lists of refs and packs are asked for by POST: a clone asks for both, once the commit was asked for.
      const build = async (what: string, ...args: string[]): Promise<{ made: string; posts: number }> => {
        const from = web.asked.length;
        await must(client(['build', '--progress=plain', '-t', 'cached:1', ...args, what]));
        const posts = web.asked.slice(from).filter((line) => line.startsWith('POST')).length;
        return { made: await printed('cached:1'), posts };
      };
      const add = (flags: string, ref: string): string =>
        folder('cached', {
          Dockerfile: [
            'FROM busybox AS src',
            `ADD --keep-git-dir ${flags} ${remote}#${ref} /r`,
            'RUN cat /proc/sys/kernel/random/uuid >/r/made',
            'FROM busybox',
            'COPY --from=src /r/made /r/f /',
            'CMD ["cat", "/f", "/made"]',
          ].join('\n'),
        });
      const first = await build(add('', 'v1'));
      expect(first).toEqual({ made: expect.stringContaining('first') as string, posts: 3 });
      // BuildKit's TestAddGitChecksumCache.
      expect(await build(add(`--checksum=${commit}`, 'v1'))).toEqual({ made: first.made, posts: 1 });
      expect((await build(`${remote}#main`)).posts).toBe(3);
      expect(await build(`${remote}#main`)).toEqual({ made: 'first', posts: 1 });
      expect(await build(`${remote}#${commit}`)).toEqual({ made: 'first', posts: 0 });
      writeFileSync(path.join(web.repositoryPath(repository), 'f'), 'second');
      git('commit', '--quiet', '--all', '--message=two');
      expect(await build(`${remote}#main`)).toEqual({ made: 'second', posts: 3 });
      expect(await build(`${remote}#v1`)).toEqual({ made: 'first', posts: 1 });
      git('tag', '--force', 'v1');
      const moved = await build(add('', 'v1'));
      expect([moved.made.startsWith('second'), moved.posts]).toEqual([true, 3]);
    });

    trixie('docker buildx: ADD gets a file once, and again only where it may have changed', async () => {
      const added = web.file('/added', 'added\n');
      const app = folder('add', { Dockerfile: `FROM busybox\nADD ${added} /added\nCMD ["cat", "/added"]\n` });
      await must(today(['buildx', 'build', '-t', 'add:1', app]));
      expect(await printed('add:1')).toBe('added\n');
      expect(web.asked.filter((line) => line.startsWith('GET /added'))).toHaveLength(1);
      web.file('/added', 'changed\n');
      await must(today(['buildx', 'build', '-t', 'add:1', app]));
      expect(await printed('add:1')).toBe('changed\n');
      expect(web.asked.filter((line) => line.startsWith('GET /added'))).toHaveLength(2);
    });
  },
  { alsoNeeds: ['docker-cli'], uplink: UPLINK },
);
