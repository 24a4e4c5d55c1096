import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { must, runClient, type Said } from '../support/buildkit/run-client.ts';
import { describeEngine } from '../support/engine/engine.ts';
import { imageTree } from '../support/images/file-tree.ts';
import { hasTrixie, inTrixie } from '../support/trixie.ts';

const OLD = '/usr/bin/docker';

/** A Dockerfile whose command adds a line to its cache. */
function marking(mark: string): Record<string, string> {
  const command = `echo ${mark} >>/cache/log && cp /cache/log /log`;
  return { Dockerfile: `FROM busybox\nRUN --mount=type=cache,target=/cache ${command}\n` };
}

/** As a client tells it, after its exit code. */
function incomplete(command: string): string {
  return `1 process "${command}" did not complete successfully:`;
}

describeEngine(
  'Dockerfiles of today',
  (engine) => {
    const root = (): string => engine.daemon.paths.root;
    const run = (file: string, args: readonly string[]): Promise<Said> =>
      runClient(engine.daemon, [file, ...args]);
    const old = (...args: string[]): Promise<Said> => run(OLD, args);
    /** Buildx where this machine has it. */
    const docker = (...args: string[]): Promise<Said> => {
      const [file, ...rest] = hasTrixie() ? inTrixie('docker', ...args) : [OLD, ...args];
      return run(file, rest);
    };
    const write = (name: string, files: Record<string, string>): string => {
      const folder = `${root()}/${name}`;
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(`${folder}/${file}`), { recursive: true });
        writeFileSync(`${folder}/${file}`, text);
      }
      return folder;
    };
    const build = async (name: string, files: Record<string, string>, ...args: string[]): Promise<Said> =>
      await must(docker('build', '--progress=plain', '--tag', name, ...args, write(name, files)));
    const said = async (image: string, ...command: string[]): Promise<string> =>
      (await must(old('run', '--rm', '--network', 'none', image, ...command))).out;

    test('an image that several stages stand on is asked for once', async () => {
      const { err } = await build('thrice', {
        Dockerfile: [
          'FROM busybox AS a',
          'FROM busybox AS b',
          'FROM busybox',
          'COPY --from=a /etc/passwd /a',
          'COPY --from=b /etc/group /b',
        ].join('\n'),
      });
      const shown = err.split('\n').filter((line) => /^#\d+ \[internal\] load metadata/.test(line));
      expect(shown).toHaveLength(1);
    });

    test('here-documents: commands, programs and files', async () => {
      await build('heredocs', {
        Dockerfile: [
          'FROM busybox',
          'ARG WHO=me',
          'RUN <<EOF',
          'echo first >/one',
          'echo second >>/one',
          'EOF',
          'RUN <<EOF',
          '#!/bin/sh',
          'echo "$0" >/two',
          'EOF',
          'COPY <<EOF <<"RAW" /files/',
          'hello $WHO',
          'EOF',
          'raw $WHO',
          'RAW',
        ].join('\n'),
      });
      expect(await said('heredocs', 'cat', '/one', '/two', '/files/EOF', '/files/RAW')).toBe(
        'first\nsecond\n/dev/pipes/EOF\nhello me\nraw $WHO\n',
      );
      expect(await said('heredocs', 'ls', '/dev')).not.toContain('pipes');
    });

    test('RUN --mount: bind of the context and of a stage, tmpfs, and nothing of it is left', async () => {
      await build('mounts', {
        data: 'of the context',
        'sub/inner': 'inner',
        Dockerfile: [
          'FROM busybox AS made',
          'RUN mkdir /out && echo made >/out/file',
          'FROM busybox',
          'RUN --mount=type=bind,target=/ctx --mount=type=bind,from=made,source=/out,target=/made \\',
          '  --mount=type=tmpfs,target=/scratch \\',
          '  cat /ctx/data /ctx/sub/inner /made/file >/got && ! touch /ctx/x 2>/dev/null && touch /scratch/x',
          'RUN --mount=type=bind,target=/ctx/file,source=data,rw echo changed >/ctx/file && cat /ctx/file >>/got',
        ].join('\n'),
      });
      expect(await said('mounts', 'cat', '/got')).toBe('of the contextinnermade\nchanged\n');
      expect(await said('mounts', 'sh', '-c', 'ls -d /ctx /made /scratch 2>/dev/null || true')).toBe('');
    });

    test('RUN: /etc/hosts that cannot be written to, nothing else of a container, and none of it is left', async () => {
      const lines = [
        'FROM busybox AS base',
        'RUN mkdir -p /new/etc && ln -s ../run/r/stub /new/etc/resolv.conf',
        'FROM busybox',
        'COPY --from=base /new /',
        'RUN cat /etc/hosts >/said; hostname >>/said; env | grep -c HOSTNAME >>/said; \\',
        '  ! echo x 2>/dev/null >>/etc/hosts && ! echo x 2>/dev/null >>/etc/resolv.conf && test -s /run/r/stub',
        'RUN test ! -e /.dockerenv && rm /etc/resolv.conf && ln -s /proc/mounts /etc/mtab && echo z >/etc/hostname',
        'RUN cat /etc/hostname >>/said',
      ];
      await build('command', { Dockerfile: lines.join('\n') }, '--add-host', 'other:10.9.8.7');
      const tree = await imageTree(engine.http, 'command');
      expect([...tree.keys()].filter((name) => /^(?:\.|etc|run|said)/.test(name))).toEqual([
        'etc',
        ...['group', 'hostname', 'mtab', 'passwd', 'shadow'].map((name) => `etc/${name}`),
        'said',
      ]);
      expect(await said('command', 'cat', '/said')).toBe(
        [
          '127.0.0.1\tlocalhost buildkitsandbox',
          '::1\tlocalhost ip6-localhost ip6-loopback',
          '10.9.8.7\tother',
          'buildkitsandbox\n0\nz\n',
        ].join('\n'),
      );
    });

    test('RUN --mount=type=cache: kept from build to build, counted, and pruned', async () => {
      await build('cached', marking('one'));
      await build('cached', marking('two'));
      expect(await said('cached', 'cat', '/log')).toBe('one\ntwo\n');
      const usage = await engine.http.ok<{ BuildCache: { Type: string; Description: string }[] }>(
        'GET',
        '/v1.45/system/df',
      );
      expect(usage.BuildCache.filter(({ Type }) => Type === 'exec.cachemount')).toMatchObject([
        { Description: 'cached mount //cache' },
      ]);
      await must(docker('builder', 'prune', '--force', '--filter', 'type=exec.cachemount'));
      await build('cached', marking('three'));
      expect(await said('cached', 'cat', '/log')).toBe('three\n');
    });

    test('RUN --mount=type=secret: a file and a variable, in no image', async () => {
      const folder = write('secret', {
        hidden: 'do not tell',
        '.dockerignore': 'hidden',
        Dockerfile: [
          'FROM busybox',
          'RUN --mount=type=secret,id=key sha256sum </run/secrets/key >/file; stat -c %a /run/secrets/key >>/file',
          'RUN --mount=type=secret,id=key,env=KEY echo "$KEY" | wc -c >>/file',
          'RUN --mount=type=secret,id=other test ! -e /run/secrets/other',
        ].join('\n'),
      });
      const args = ['--secret', `id=key,src=${folder}/hidden`, '--tag', 'secret'];
      await must(docker('build', '--progress=plain', ...args, folder));
      expect(await said('secret', 'cat', '/file')).toMatch(/^[0-9a-f]{64} {2}-\n400\n12\n$/);
      expect(await said('secret', 'sh', '-c', 'ls /run/secrets 2>/dev/null || true')).toBe('');
      // Nor is it in a row, or what is left of one.
      const { status } = spawnSync('grep', ['-rqaF', 'do not tell', engine.daemon.paths.dataRoot]);
      expect(status).toBe(1);
      const required = write('required', {
        Dockerfile: 'FROM busybox\nRUN --mount=type=secret,id=gone,required=true true\n',
      });
      const { code, err } = await docker('build', '--progress=plain', required);
      expect(code).toBe(1);
      expect(err).toContain('secret gone: not found');
    });

    test('COPY --link, --chmod, --chown, --exclude and --parents', async () => {
      const folder = write('copies', {
        'a/one.txt': '1',
        'a/two.md': '2',
        'a/b/three.md': '3',
        Dockerfile: [
          '# syntax=docker/dockerfile:1-labs',
          'FROM busybox AS base',
          'RUN mkdir -m 1777 /tmp2',
          'FROM base',
          'COPY --link a/one.txt /tmp2/',
          'COPY --chmod=640 --chown=7:8 a/one.txt /owned',
          'COPY --chown=nobody-here:8 a/one.txt /unknown',
          'COPY --exclude=*.md a /some/',
          'COPY --exclude=**/*.md a /none/',
          'COPY --parents ./a/b/three.md a/./b /up/',
        ].join('\n'),
      });
      symlinkSync('one.txt', `${folder}/a/link`);
      const { err } = await must(docker('build', '--progress=plain', '--tag', 'copies', folder));
      expect(err).toContain('the image has no user nobody-here: the files belong to 0:8');
      const command = 'stat -c "%a %u %g" /owned; stat -c "%u %g" /unknown; cat /tmp2/one.txt; echo';
      expect(await said('copies', 'sh', '-c', command)).toBe('640 7 8\n0 8\n1\n');
      expect(await said('copies', 'sh', '-c', 'cd /some && find . | sort; cd /none && find . | sort')).toBe(
        './b\n./b/three.md\n./link\n./one.txt\n./b\n./link\n./one.txt\n'.replaceAll('./b\n', '.\n./b\n'),
      );
      expect(await said('copies', 'sh', '-c', 'cd /up && find . | sort')).toBe(
        '.\n./a\n./a/b\n./a/b/three.md\n./b\n./b/three.md\n',
      );
    });

    test('COPY --parents: ** is any number of directories, and a file that moves is another result', async () => {
      const folder = write('deep', {
        'a/one.md': '1',
        'a/b/two.md': '2',
        'a/b/c/three.md': '3',
        'a/b/c/four.txt': '4',
        Dockerfile: [
          'FROM busybox AS base',
          'RUN mkdir -p /t/x/y && echo 1 >/t/f && echo 2 >/t/x/y/f && ln -s .. /t/x/up && ln -s y /t/x/link',
          'FROM busybox',
          'COPY --parents a/**/*.md /all/',
          'COPY --parents a/*/*.md /some/',
          'COPY --parents --from=base /t/./**/f /stage/',
        ].join('\n'),
      });
      const list = 'cd /all && find . -type f | sort; cd /some && find . -type f; cd /stage && find . | sort';
      await must(docker('build', '--tag', 'deep', folder));
      const stage = '.\n./f\n./x\n./x/y\n./x/y/f\n';
      expect(await said('deep', 'sh', '-c', list)).toBe(
        `./a/b/c/three.md\n./a/b/two.md\n./a/one.md\n./a/b/two.md\n${stage}`,
      );
      renameSync(`${folder}/a/b`, `${folder}/a/moved`);
      await must(docker('build', '--tag', 'moved', folder));
      expect(await said('moved', 'sh', '-c', list)).toBe(
        `./a/moved/c/three.md\n./a/moved/two.md\n./a/one.md\n./a/moved/two.md\n${stage}`,
      );
    });

    test('COPY: names of one file stay that; another kind of file, and no program to run, are told', async () => {
      const folder = write('kinds', {
        'a/one': '1',
        'lib/file': '2',
        Dockerfile: [
          'FROM busybox AS base',
          'RUN mkdir -p /usr/lib2 /t && ln -s usr/lib2 /lib2 && ln -s lib2 /t/lib && mkdir -p /u/one && echo x >/file',
          'FROM base',
          'COPY lib /lib2/',
          'COPY a /a/',
          'COPY --exclude=one a /b/',
          'FROM base AS directory',
          'COPY . /t/',
          'FROM base AS other',
          'COPY a/ /u/',
          'FROM base AS target',
          'COPY a /file',
          'FROM base AS missing',
          'COPY none /',
          'FROM base AS program',
          'RUN ["/none", "x"]',
          'FROM base AS user',
          'USER nobody-here',
          'RUN true',
        ].join('\n'),
      });
      linkSync(`${folder}/a/one`, `${folder}/a/two`);
      linkSync(`${folder}/a/one`, `${folder}/a/zoo`);
      await must(docker('build', '--progress=plain', '--tag', 'kinds', '--target', '1', folder));
      const tree = await imageTree(engine.http, 'kinds');
      expect(['a/two', 'a/zoo', 'b/zoo'].map((name) => tree.get(name)?.replace(/.*same/, 'same'))).toEqual([
        'same as a/one',
        'same as a/one',
        'same as b/two',
      ]);
      expect(tree.has('usr/lib2/file')).toBe(true);
      const refused = async (target: string): Promise<string> => {
        const { code, err } = await docker('build', '--progress=plain', '--target', target, folder);
        // What ends first in the client says so: its call of Solve, or its frontend.
        const [, why = `no reason: ${err}`] =
          err.match(/^ERROR: failed to (?:solve|run Build function): (.*)$/m) ?? [];
        return `${code} ${why.replace(/\/\S+\/merged/, '')}`;
      };
      expect(await refused('directory')).toBe('1 cannot copy to non-directory: /t/lib');
      expect(await refused('other')).toBe('1 cannot replace to directory /u/one with file');
      expect(await refused('target')).toBe('1 cannot copy to non-directory: /file');
      expect(await refused('missing')).toMatch(
        /^1 failed to compute cache key: failed to calculate checksum of ref \S+::[0-9a-f]{32}: "\/none": not found$/,
      );
      expect(await refused('program')).toBe(`${incomplete('/none x')} exit code: 1`);
      expect(await refused('user')).toBe(
        `${incomplete('/bin/sh -c true')} unable to find user nobody-here: no matching entries in passwd file`,
      );
    });

    test('a rebuild takes all from the cache, and is the same image', async () => {
      const files = {
        file: 'x',
        Dockerfile: 'FROM busybox\nWORKDIR /w\nCOPY file .\nRUN date +%N >when\nCMD ["cat", "when"]\n',
      };
      await build('same', files);
      const first = await must(old('image', 'inspect', '--format', '{{.Id}}', 'same'));
      const again = await build('same', files);
      expect(again.err.match(/ CACHED$/gm)?.length).toBeGreaterThanOrEqual(3);
      expect(await must(old('image', 'inspect', '--format', '{{.Id}}', 'same'))).toEqual(first);
      await build('same', { ...files, other: 'not used' });
      expect((await must(old('image', 'inspect', '--format', '{{.Id}}', 'same'))).out).toBe(first.out);
    });

    test('named contexts, and only the stages that are needed', async () => {
      const other = write('other', { file: 'of the other' });
      await build(
        'named',
        {
          Dockerfile: [
            'FROM not-there AS never',
            'RUN false',
            'FROM base',
            'COPY --from=files file /file',
          ].join('\n'),
        },
        ...(hasTrixie()
          ? ['--build-context', `files=${other}`, '--build-context', 'base=docker-image://busybox']
          : ['--target', 'never']),
      );
      expect(await said('named', 'cat', '/file')).toBe('of the other');
    });
  },
  { alsoNeeds: ['docker-cli'] },
);
