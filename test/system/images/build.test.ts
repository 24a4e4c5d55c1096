import { execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import type { ContainerConfig } from '../../../api/types/container.ts';
import { readBuilt, type Built } from '../../support/images/built.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { tar, type TarEntry } from '../../support/images/tar.ts';

function context(dockerfile: string | readonly string[], files: readonly TarEntry[] = []): Buffer {
  const content = typeof dockerfile === 'string' ? dockerfile : `${dockerfile.join('\n')}\n`;
  return tar([{ name: 'Dockerfile', content }, ...files]);
}

/** Build arguments of a request. */
function args(value: object): string {
  return `buildargs=${encodeURIComponent(JSON.stringify(value))}`;
}

function file(more: object): TarEntry[] {
  return [{ name: 'f', content: 'same', ...more }];
}

/** Ids, which differ from run to run. */
function plain(text: string): string {
  return text.replace(/\b[0-9a-f]{12}\b/g, 'ID');
}

describeEngine('build', (engine) => {
  const send = async (body: Buffer, query = ''): Promise<Built> => {
    const answer = await engine.http.request('POST', `/build?${query}`, {
      body,
      headers: { 'Content-Type': 'application/x-tar' },
    });
    return readBuilt(answer);
  };
  const build = async (
    dockerfile: string | readonly string[],
    files: readonly TarEntry[] = [],
    query = '',
  ): Promise<Built> => {
    const built = await send(context(dockerfile, files), query);
    expect({ status: built.status, error: built.error }).toEqual({ status: 200, error: '' });
    return built;
  };
  const failing = async (
    dockerfile: string | readonly string[],
    files: readonly TarEntry[] = [],
    query = '',
  ): Promise<string> => (await send(context(dockerfile, files), query)).error;
  const configOf = async (id: string): Promise<ContainerConfig> =>
    (await engine.http.ok<{ Config: ContainerConfig }>('GET', `/images/${id}/json`)).Config;
  const sh = async (image: string, script: string): Promise<string> =>
    (await engine.run(['sh', '-c', script], {}, { Image: image })).stdout;

  afterEach(async () => {
    await engine.removeAll();
    await engine.removeImages();
  });

  test('build: the classic progress, then everything from the cache', async () => {
    const lines = [
      'FROM busybox',
      'ENV A=1',
      'COPY hello /srv/',
      'RUN cat /srv/hello; echo oops >&2',
      'CMD ["cat"]',
    ];
    const files = [{ name: 'hello', content: 'hi\n' }];
    const first = await build(lines, files, 't=made&t=also:2');
    if (!onReference) {
      expect(plain(first.text)).toBe(
        'Step 1/5 : FROM busybox\n ---> ID\nStep 2/5 : ENV A=1\n ---> ID\nStep 3/5 : COPY hello /srv/\n ---> ID\n' +
          'Step 4/5 : RUN cat /srv/hello; echo oops >&2\n ---> Running in ID\nhi\n\u001B[91moops\n\u001B[0m' +
          'Removing intermediate container ID\n ---> ID\nStep 5/5 : CMD ["cat"]\n ---> ID\n' +
          'Successfully built ID\nSuccessfully tagged made:latest\nSuccessfully tagged also:2\n',
      );
    }
    const again = await build(lines, files, 't=made');
    expect(again.id).toBe(first.id);
    expect(plain(again.text)).toBe(
      'Step 1/5 : FROM busybox\n ---> ID\nStep 2/5 : ENV A=1\n ---> Using cache\n ---> ID\n' +
        'Step 3/5 : COPY hello /srv/\n ---> Using cache\n ---> ID\n' +
        'Step 4/5 : RUN cat /srv/hello; echo oops >&2\n ---> Using cache\n ---> ID\n' +
        'Step 5/5 : CMD ["cat"]\n ---> Using cache\n ---> ID\nSuccessfully built ID\nSuccessfully tagged made:latest\n',
    );
    expect((await build(lines, files, 'nocache=1')).id).not.toBe(first.id);
    expect(await engine.list()).toEqual([]);
  });

  test('build: the configuration of every instruction', async () => {
    const { id } = await build(
      [
        'FROM busybox',
        'MAINTAINER me',
        'ARG WHO=world',
        'ENV GREETING="hello $WHO" B=${NOPE:-${WHO}}',
        'LABEL a=1 b="two words"',
        'EXPOSE 80 53/udp',
        'VOLUME /data',
        'WORKDIR /srv',
        'WORKDIR sub',
        'USER 1:2',
        'ENTRYPOINT ["sh", "-c"]',
        'CMD exec top',
        'STOPSIGNAL SIGUSR1',
        'HEALTHCHECK --retries=2 CMD true',
        'SHELL ["/bin/sh", "-ec"]',
        'ONBUILD RUN echo hi',
      ],
      [],
      `labels=${encodeURIComponent('{"c":"it\'s"}')}`,
    );
    expect(await configOf(id)).toMatchObject({
      Env: [expect.stringMatching(/^PATH=/), 'GREETING=hello world', 'B=world'],
      Labels: { a: '1', b: 'two words', c: "it's" },
      ExposedPorts: { '80/tcp': {}, '53/udp': {} },
      Volumes: { '/data': {} },
      WorkingDir: '/srv/sub',
      User: '1:2',
      Entrypoint: ['sh', '-c'],
      Cmd: ['/bin/sh', '-c', 'exec top'],
      StopSignal: 'SIGUSR1',
      Healthcheck: { Test: ['CMD-SHELL', 'true'], Retries: 2 },
      Shell: ['/bin/sh', '-ec'],
      OnBuild: ['RUN echo hi'],
    });
    const child = await build(`FROM ${id}\nUSER root\n`);
    expect(child.text).toContain('# Executing 1 build trigger\n');
    expect(child.text).toContain('hi\n');
    // Left out where it is empty, since API 1.52.
    expect((await configOf(child.id)).OnBuild ?? null).toBe(null);
  });

  test('build: stages, and copies between them and from images', async () => {
    const { id } = await build(
      [
        'ARG BASE=busybox',
        'FROM ${BASE} AS one',
        'RUN mkdir -p /out/deep && echo 1 >/out/deep/file && ln -s deep/file /out/link && chmod 4750 /out/deep/file',
        'FROM scratch AS two',
        'COPY --from=one /out /copied',
        'FROM busybox',
        'COPY --from=two / /',
        'COPY --from=0 --chown=3:4 /out/deep/* /files/',
        'COPY --from=busybox:latest /etc/passwd /passwd',
      ],
      [],
    );
    expect(
      await sh(
        id,
        'cd /copied; stat -c "%a %u:%g %n" deep/file; readlink link; stat -c "%a %u:%g" /files/file; ls /passwd',
      ),
    ).toBe(`4750 0:0 deep/file\ndeep/file\n${onReference ? '' : '4'}750 3:4\n/passwd\n`);
  });

  test('build: what COPY and ADD make of files, directories, links and patterns', async () => {
    const inner = tar([
      { name: 'x/', mode: 0o711 },
      { name: 'x/y', content: 'y', uid: 5, gid: 6 },
    ]);
    const files: TarEntry[] = [
      { name: 'a.txt', content: 'a', mode: 0o640 },
      { name: 'b.txt', content: 'b' },
      { name: 'dir/', mode: 0o700 },
      { name: 'dir/sub/', mode: 0o1777 },
      { name: 'dir/sub/file', content: 'deep', mode: 0o755 },
      { name: 'dir/link', type: '2', linkName: 'sub/file' },
      { name: 'toa', type: '2', linkName: 'a.txt' },
      { name: 'inner.tar', content: inner },
      { name: 'hard', type: '1', linkName: 'a.txt', mode: 0o640 },
    ];
    const { id } = await build(
      [
        'FROM busybox',
        'COPY a.txt b.txt /two/',
        'COPY a.txt /renamed',
        'COPY dir /dir',
        'COPY *.txt /pattern/',
        'COPY toa /toa',
        'COPY ["hard", "/with space/"]',
        'WORKDIR /work',
        'COPY dir/sub .',
        'COPY a.txt /tmp',
        'ADD inner.tar /unpacked',
        'COPY inner.tar /kept',
        'COPY --chown=daemon:daemon a.txt /owned/by/them',
      ],
      files,
    );
    const script =
      'cd /; stat -c "%n %a %F %u:%g" two/* renamed dir dir/* dir/sub/file pattern/* toa "with space/hard" work/* ' +
      'tmp tmp/a.txt unpacked/x unpacked/x/y kept owned/by owned/by/them; readlink dir/link';
    expect((await sh(id, script)).split('\n')).toMatchInlineSnapshot(`
      [
        "two/a.txt 640 regular file 0:0",
        "two/b.txt 644 regular file 0:0",
        "renamed 640 regular file 0:0",
        "dir 755 directory 0:0",
        "dir/link 777 symbolic link 0:0",
        "dir/sub 1777 directory 0:0",
        "dir/sub/file 755 regular file 0:0",
        "pattern/a.txt 640 regular file 0:0",
        "pattern/b.txt 644 regular file 0:0",
        "toa 640 regular file 0:0",
        "with space/hard 640 regular file 0:0",
        "work/file 755 regular file 0:0",
        "tmp 1777 directory 0:0",
        "tmp/a.txt 640 regular file 0:0",
        "unpacked/x 711 directory 0:0",
        "unpacked/x/y 644 regular file 5:6",
        "kept 644 regular file 0:0",
        "owned/by 755 directory 1:1",
        "owned/by/them 640 regular file 1:1",
        "sub/file",
        "",
      ]
    `);
  });

  test('build: .dockerignore leaves out itself and the Dockerfile, clients the rest', async () => {
    const { id } = await build(
      ['FROM busybox', 'COPY . /all'],
      [
        { name: '.dockerignore', content: '# no\n*.log\n.docker*\nDockerfile\n' },
        { name: 'a.log', content: '' },
        { name: 'deep/down/public', content: '' },
      ],
    );
    expect(await sh(id, 'cd /all; find . -type f | sort')).toBe('./a.log\n./deep/down/public\n');
  });

  test('build: arguments reach RUN, count for its cache, and leave no trace in the environment', async () => {
    const lines = [
      'FROM busybox',
      'ARG A=none',
      'ARG HTTP_PROXY',
      'RUN echo "A=$A P=$http_proxy" | tee /said',
    ];
    const one = await build(lines, [], args({ A: '1', http_proxy: 'p' }));
    expect(one.text).toContain('A=1 P=p\n');
    const two = await build(lines, [], args({ A: '2' }));
    expect(two.text).toContain('A=2 P=\n');
    const three = await build(lines, [], args({ A: '1', http_proxy: 'other' }));
    expect(three.id).toBe(one.id);
    expect((await configOf(one.id)).Env?.join(' ')).not.toContain('A=');
    expect((await build(['FROM busybox', 'LABEL x=y'], [], args({ UNUSED: '1' }))).text).toContain(
      '[Warning] One or more build-args [UNUSED] were not consumed\n',
    );
  });

  test('build: the cache looks at content, mode and names, not at times', async () => {
    const lines = ['FROM busybox', 'COPY f /f'];
    const first = await build(lines, file({ mtime: 1 }));
    expect((await build(lines, file({ mtime: 2 }))).id).toBe(first.id);
    expect((await build(lines, file({ mode: 0o600 }))).id).not.toBe(first.id);
    expect((await build(lines, file({ content: 'else' }))).id).not.toBe(first.id);
  });

  test('build: a command that fails ends it with its code, and is kept or removed', async () => {
    const failed = await send(context(['FROM busybox', 'RUN exit 3']));
    expect(failed.messages.at(-1)).toEqual({
      errorDetail: { code: 3, message: "The command '/bin/sh -c exit 3' returned a non-zero code: 3" },
      error: "The command '/bin/sh -c exit 3' returned a non-zero code: 3",
    });
    expect(await engine.list()).toHaveLength(1);
    await engine.removeAll();
    await send(context(['FROM busybox', 'RUN exit 3']), 'forcerm=1');
    expect(await engine.list()).toEqual([]);
  });

  test('build: quiet tells the id only; a target ends early; rm=0 keeps containers', async () => {
    const lines = ['FROM busybox AS first', 'RUN echo loud', 'FROM busybox', 'RUN exit 1'];
    const quiet = await build(lines, [], 'q=1&target=first&rm=0');
    expect(quiet.text).toMatch(/^sha256:[0-9a-f]{64}\n$/);
    expect(await engine.list()).toHaveLength(1);
  });

  test.each(['gzip', 'xz', 'bzip2', 'zstd'])('build: a context packed by %s', async (program) => {
    if (program === 'zstd' && onReference) {
      return;
    }
    const body = execFileSync(program, ['-c'], {
      input: context('FROM busybox\nCOPY f /\n', [{ name: 'f' }]),
    });
    expect((await send(body)).error).toBe('');
  });

  test('build: limits, network and hosts reach RUN', async () => {
    const { text } = await build(
      [
        'FROM busybox',
        'RUN cat /sys/fs/cgroup/memory/memory.limit_in_bytes /etc/hosts; ls /sys/class/net; df /dev/shm',
      ],
      [],
      'memory=67108864&networkmode=none&extrahosts=there:10.1.2.3&shmsize=1048576',
    );
    expect(text).toContain('67108864');
    expect(text).toContain('10.1.2.3\tthere');
    expect(text).not.toContain('eth0');
    expect(text).toContain(' 1024 ');
  });

  test('build: a client that leaves ends it, and nothing of it stays', async () => {
    const before = await engine.http.ok<unknown[]>('GET', '/images/json?all=1');
    const stop = new AbortController();
    const body = context(['FROM busybox', 'RUN echo begun; sleep 600']);
    const request = engine.http.request('POST', '/build?nocache=1', { body, signal: stop.signal });
    await until('the command', async () => (await engine.list('')).length === 1);
    stop.abort();
    await expect(request).rejects.toThrow();
    await until('the end', async () => (await engine.list()).length === 0);
    expect(await engine.http.ok('GET', '/images/json?all=1')).toEqual(before);
  });

  test('build prune: what nothing needs goes, what a name stands on stays', async () => {
    const named = await build(['FROM busybox', 'ENV A=1', 'ENV B=2'], [], 't=named');
    await build(['FROM busybox', 'ENV C=1', 'ENV D=2']);
    if (!onReference) {
      const report = await engine.http.ok<{ CachesDeleted: string[] }>('POST', '/build/prune');
      expect(report.CachesDeleted).toHaveLength(2);
      expect(await engine.http.ok('POST', '/build/prune')).toEqual({
        CachesDeleted: null,
        SpaceReclaimed: 0,
      });
    }
    expect((await build(['FROM busybox', 'ENV A=1', 'ENV B=2'])).id).toBe(named.id);
  });

  test.skipIf(onReference)('class 12: archives and links cannot lead a build out of its image', async () => {
    const { id } = await build(
      [
        'FROM busybox',
        'RUN ln -s /etc /link && ln -s ../../../../../tmp /up',
        'COPY f /link/placed',
        'COPY f /up/',
        'ADD a.tar /unpacked/',
      ],
      [
        { name: 'f', content: 'f' },
        {
          name: 'a.tar',
          content: tar([
            { name: 'out', type: '2', linkName: '/etc' },
            { name: 'out/planted', content: 'p' },
          ]),
        },
      ],
    );
    expect(await sh(id, 'cat /etc/placed /tmp/f /etc/planted')).toBe('ffp');
    const escaping = tar([{ name: '../../escaped', content: 'x' }]);
    const refused = await failing(['FROM busybox', 'ADD a.tar /'], [{ name: 'a.tar', content: escaping }]);
    expect(refused).toContain(onReference ? 'breakout' : 'would lead out');
  });

  test.each<[string, string[], TarEntry[], string, string]>([
    ['an unknown instruction', ['FROM busybox', 'RUNN x'], [], '', 'unknown instruction: RUNN'],
    ['nothing', ['# nothing'], [], '', 'file with no instructions'],
    ['no FROM', ['RUN x'], [], '', 'no build stage in current context'],
    [
      'another Dockerfile',
      ['FROM busybox'],
      [],
      'dockerfile=other',
      'Cannot locate specified Dockerfile: other',
    ],
    ['a bad name', ['FROM busybox'], [], 't=UPPER', 'must be lowercase'],
    ['a missing file', ['FROM busybox', 'COPY nope /'], [], '', 'file not found in build context'],
    ['a path outside', ['FROM busybox', 'COPY ../x /'], [], '', 'forbidden path outside the build context'],
    ['a missing target', ['FROM busybox'], [], 'target=x', 'failed to reach build target x'],
    [
      'several files to one',
      ['FROM busybox', 'COPY a b /c'],
      [{ name: 'a' }, { name: 'b' }],
      '',
      'must be a directory',
    ],
    [
      'a heredoc',
      ['FROM busybox', 'RUN <<EOF', 'echo', 'EOF'],
      [],
      '',
      onReference ? 'unknown instruction' : 'here-documents',
    ],
    [
      'a BuildKit flag',
      ['FROM busybox', 'RUN --mount=type=cache,target=/x true'],
      [],
      '',
      onReference ? '' : 'Unknown flag: mount',
    ],
    ['an unknown user', ['FROM busybox', 'COPY --chown=nobody1 a /'], [{ name: 'a' }], '', 'nobody1'],
  ])('build: %s is refused', async (_what, lines, files, query, message) => {
    expect(await failing(lines, files, query)).toContain(message);
    expect(await engine.list()).toEqual([]);
  });
});
