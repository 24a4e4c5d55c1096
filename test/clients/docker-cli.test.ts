import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { spawn as spawnTerminal } from 'node-pty';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import { until } from '../support/engine/http.ts';

interface Said {
  code: number;
  out: string;
  err: string;
}

describeEngine(
  'docker CLI',
  (engine) => {
    const environment = (): Record<string, string> => ({
      PATH: process.env['PATH'] ?? '',
      HOME: engine.daemon.paths.root,
      DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
      TERM: 'xterm',
      DOCKER_BUILDKIT: '0',
    });
    const docker = (...args: string[]): Promise<Said> =>
      new Promise((resolve) => {
        const child = execFile(
          'docker',
          args,
          { env: environment(), timeout: 120_000 },
          (error, out, err) => {
            resolve({ code: error === null ? 0 : (child.exitCode ?? 1), out, err });
          },
        );
        child.stdin?.end();
      });
    /** Succeeds or fails the test with what the CLI said; answers standard output without its last newline. */
    const must = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await docker(...args);
      expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
      return out.trimEnd();
    };
    /** Runs the CLI on a terminal, types, and answers what stood on the screen at its end. */
    const typed = (
      args: string[],
      type: (seen: () => string, write: (text: string) => void) => Promise<void>,
    ) =>
      new Promise<{ screen: string; code: number }>((resolve, reject) => {
        const terminal = spawnTerminal('docker', args, { env: environment(), cols: 90, rows: 30 });
        let screen = '';
        terminal.onData((data) => {
          screen += data;
        });
        terminal.onExit(({ exitCode }) => resolve({ screen, code: exitCode }));
        type(
          () => screen,
          (text) => terminal.write(text),
        ).catch((error: unknown) => {
          terminal.kill();
          reject(new Error(`${String(error)}; the screen shows: ${screen}`));
        });
      });

    test('run: attached, with exit code and both streams', async () => {
      expect(await docker('run', '--rm', 'busybox', 'sh', '-c', 'echo out; echo err >&2; exit 3')).toEqual({
        code: 3,
        out: 'out\n',
        err: 'err\n',
      });
      expect(await must('ps', '--all', '--quiet')).toBe('');
    });

    test('load: tells how far each layer is on a terminal, and nothing of it elsewhere', async () => {
      const file = `${engine.daemon.paths.root}/busybox.tar`;
      await must('save', '--output', file, 'busybox');
      expect(await must('load', '--input', file)).toBe('Loaded image: busybox:latest');
      await must('rmi', 'busybox');
      const { screen, code } = await typed(['load', '--input', file], () => Promise.resolve());
      expect(code).toBe(0);
      // The CLI leaves the bar itself out of so narrow a terminal.
      expect(screen).toMatch(/[0-9a-f]{12}: Loading layer +[\d.]+\wB\/[\d.]+\wB/);
      expect(screen).toContain('Loaded image: busybox:latest');
    });

    test('build, commit, history: the classic builder as the CLI shows it', async () => {
      const folder = `${engine.daemon.paths.root}/context`;
      mkdirSync(folder);
      writeFileSync(`${folder}/Dockerfile`, 'FROM busybox\nCOPY hello /\nRUN cat /hello\nCMD cat /hello\n');
      writeFileSync(`${folder}/hello`, 'built\n');
      writeFileSync(`${folder}/.dockerignore`, 'junk\n');
      writeFileSync(`${folder}/junk`, 'never sent\n');
      const said = await must('build', '-t', 'built:1', '--label', 'a=b', folder);
      expect(said).toContain('Step 3/5 : RUN cat /hello\n ---> Running in ');
      expect(said).toContain('\nbuilt\n');
      expect(said).toMatch(/Successfully built [0-9a-f]{12}\nSuccessfully tagged built:1$/);
      expect(await must('build', '-q', folder)).toMatch(/^sha256:/);
      expect(await must('run', '--name', 'made', 'built:1')).toBe('built');
      expect(await must('commit', '-m', 'why', '-c', 'CMD echo changed', 'made', 'committed')).toMatch(
        /^sha256:/,
      );
      expect(await must('run', '--rm', 'committed')).toBe('changed');
      expect(await must('history', '--format', '{{.Comment}}', 'committed')).toMatch(/^why/);
      writeFileSync(`${folder}/Dockerfile`, 'FROM busybox\nRUN exit 7\n');
      const { code, err } = await docker('build', folder);
      expect(code).toBe(7);
      expect(err).toContain("The command '/bin/sh -c exit 7' returned a non-zero code: 7");
      await must('rm', '--force', 'made');
      await must('rmi', '--force', 'committed', 'built:1');
      await must('container', 'prune', '--force');
      await must('image', 'prune', '--force');
    });

    test.each([
      ['no such command', '/no/such', 127],
      ['not executable', '/etc', 126],
    ])('run: %s ends as a shell would', async (_what, command, code) => {
      expect((await docker('run', '--rm', 'busybox', command)).code).toBe(code);
    });

    test('run: an image that is not here says so', async () => {
      const { code, err } = await docker('run', '--rm', '--pull', 'never', 'not/here:1');
      expect(code).toBe(125);
      expect(err).toContain('No such image: not/here:1');
    });

    test('run --rm: a command that cannot be run is told once, and nothing is left', async () => {
      const { code, err } = await docker('run', '--rm', '--network', 'none', 'busybox', 'nosuch');
      expect(code).toBe(127);
      expect(err.match(/executable file not found/g)).toHaveLength(1);
      expect(await must('ps', '--all', '--quiet')).toBe('');
    });

    test('run: standard input through a pipe', async () => {
      const child = spawn('docker', ['run', '--rm', '--interactive', 'busybox', 'wc', '-c'], {
        env: environment(),
      });
      let out = '';
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
      });
      child.stdin.end(Buffer.alloc(300_000, 'x'));
      await new Promise((resolve) => {
        child.once('close', resolve);
      });
      expect(out.trim()).toBe('300000');
    });

    test('run -it: a shell on a terminal of the right size', async () => {
      const { screen, code } = await typed(['run', '--rm', '-it', 'busybox', 'sh'], async (seen, write) => {
        await until('the prompt', () => seen().includes('# '));
        await until('the size', () => {
          write('stty size\r');
          return seen().includes('30 90');
        });
        write('exit 5\r');
      });
      expect(screen).toContain('30 90');
      expect(code).toBe(5);
    });

    test('run -it: ctrl-p ctrl-q detaches, attach comes back', async () => {
      await typed(['run', '-it', '--name', 'shell', 'busybox', 'sh'], async (seen, write) => {
        await until('the prompt', () => seen().includes('# '));
        write('\u0010\u0011');
      });
      expect(await must('inspect', '--format', '{{.State.Running}}', 'shell')).toBe('true');
      const { code } = await typed(['attach', 'shell'], async (seen, write) => {
        write('\r');
        await until('the prompt', () => seen().includes('# '));
        write('exit 4\r');
      });
      expect(code).toBe(4);
    });

    test('run -d: ps, inspect, logs -f, exec, stop, wait, rm', async () => {
      const id = await must(
        'run',
        '-d',
        '--name',
        'job',
        'busybox',
        'sh',
        '-c',
        'trap "exit 7" TERM; echo up; while :; do sleep 0.1; done',
      );
      expect(id).toMatch(/^[0-9a-f]{64}$/);
      await expect.poll(() => must('logs', 'job')).toBe('up');
      expect(await must('ps', '--format', '{{.Names}} {{.Image}} {{.State}}')).toBe('job busybox running');
      expect(await must('inspect', '--format', '{{.Name}} {{.State.Status}}', 'job')).toBe('/job running');
      expect(await must('exec', 'job', 'echo', 'inside')).toBe('inside');
      expect((await docker('exec', 'job', 'sh', '-c', 'exit 9')).code).toBe(9);
      const followed = docker('logs', '-f', 'job');
      const waited = docker('wait', 'job');
      expect(await must('stop', 'job')).toBe('job');
      expect([(await followed).out, (await waited).out]).toEqual(['up\n', '7\n']);
      expect(await must('rm', 'job')).toBe('job');
    });

    test('exec -it: a terminal in a running container', async () => {
      await must('run', '-d', '--name', 'host', 'busybox', 'sleep', '1000');
      const { screen, code } = await typed(['exec', '-it', 'host', 'sh'], async (seen, write) => {
        await until('the prompt', () => seen().includes('# '));
        write('echo in-$((40 + 2))\r');
        await until('the answer', () => seen().includes('in-42'));
        write('exit 6\r');
      });
      expect(screen).toContain('in-42');
      expect(code).toBe(6);
    });

    test('kill, start, restart and rename', async () => {
      await must('create', '--name', 'first', 'busybox', 'sleep', '1000');
      await must('start', 'first');
      await must('kill', '--signal', 'KILL', 'first');
      expect(await must('wait', 'first')).toBe('137');
      await must('restart', 'first');
      await must('rename', 'first', 'second');
      expect(await must('ps', '--format', '{{.Names}}')).toBe('second');
      expect((await docker('rm', 'second')).err).toContain('running');
      await must('rm', '--force', 'second');
    });

    test('run: -e, -v, -w, -u, --hostname, --read-only, --tmpfs, --memory, --cap-drop', async () => {
      const folder = `${engine.daemon.paths.root}/shared`;
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${folder}/in`, 'shared\n', { mode: 0o644 });
      const flags = [
        '-e',
        'COLOUR=blue',
        '-v',
        `${folder}:/shared`,
        '-w',
        '/shared',
        '-u',
        '0:0',
        '--hostname',
        'box',
      ];
      const more = [
        '--read-only',
        '--tmpfs',
        '/scratch',
        '--memory',
        '64m',
        '--cap-drop',
        'ALL',
        '--pids-limit',
        '50',
      ];
      const script = 'echo $COLOUR; pwd; cat in; hostname; touch /scratch/x && echo written >out';
      expect(await must('run', '--rm', ...flags, ...more, 'busybox', 'sh', '-c', script)).toBe(
        'blue\n/shared\nshared\nbox',
      );
      expect(readFileSync(`${folder}/out`, 'utf8')).toBe('written\n');
    });

    test('run -p: port and the page behind it', async () => {
      const page = 'mkdir /www; echo page >/www/index.html; httpd -f -p 80 -h /www';
      await must('run', '-d', '--name', 'web', '-p', '127.0.0.1:8300:80', 'busybox', 'sh', '-c', page);
      expect(await must('port', 'web')).toBe('80/tcp -> 127.0.0.1:8300');
      await until('the page', async () => (await engine.daemon.fetch('http://127.0.0.1:8300/')) === 'page\n');
      expect(await must('ps', '--format', '{{.Ports}}')).toBe('127.0.0.1:8300->80/tcp');
    });

    test('run --restart: the policy is kept and shown', async () => {
      await must('run', '-d', '--name', 'again', '--restart', 'on-failure:2', 'busybox', 'false');
      await until(
        'two restarts',
        async () =>
          (await must('inspect', '--format', '{{.RestartCount}}{{.State.Status}}', 'again')) === '2exited',
      );
    });

    test('volumes: create, ls, inspect, rm', async () => {
      expect(await must('volume', 'create', 'journal')).toBe('journal');
      await must('run', '--rm', '-v', 'journal:/data', 'busybox', 'sh', '-c', 'echo kept >/data/f');
      expect(await must('run', '--rm', '-v', 'journal:/data', 'busybox', 'cat', '/data/f')).toBe('kept');
      expect(await must('volume', 'ls', '--quiet')).toBe('journal');
      expect(await must('volume', 'inspect', '--format', '{{.Driver}}', 'journal')).toBe('local');
      expect(await must('volume', 'rm', 'journal')).toBe('journal');
    });

    test('images: save, rmi, load, tag, import, history', async () => {
      const tarball = `${engine.daemon.paths.root}/saved.tar`;
      const id = await must('images', '--quiet', '--no-trunc', 'busybox');
      await must('save', '--output', tarball, 'busybox:latest');
      await must('rmi', 'busybox:latest');
      expect(await must('images', '--quiet')).toBe('');
      expect(await must('load', '--input', tarball)).toContain('Loaded image: busybox:latest');
      expect(await must('images', '--quiet', '--no-trunc', 'busybox')).toBe(id);
      await must('tag', 'busybox', 'other/name:2');
      expect(await must('images', '--format', '{{.Repository}}:{{.Tag}}', 'other/name')).toBe('other/name:2');
      await must('rmi', 'other/name:2');
      expect((await must('history', '--quiet', 'busybox')).split('\n')).not.toHaveLength(0);
      await must('import', tarball, 'imported:1');
      await must('rmi', 'imported:1');
    });

    test('events: seen while they happen', async () => {
      const child = spawn('docker', ['events', '--filter', 'type=container', '--format', '{{.Action}}'], {
        env: environment(),
      });
      let seen = '';
      child.stdout.on('data', (chunk: Buffer) => {
        seen += chunk.toString();
      });
      // The CLI tells nobody when it has subscribed, which may be in the middle of a run.
      await until('the events of a whole run', async () => {
        await must('run', '--rm', 'busybox', 'true');
        return seen.includes('create\nattach\nstart\ndie\ndestroy\n');
      });
      child.kill();
    });

    test('info and version: name both sides', async () => {
      expect(await must('version', '--format', '{{.Server.Os}}/{{.Server.Arch}}')).toBe('linux/amd64');
      expect(await must('info', '--format', '{{.OSType}} {{.Driver}}')).toBe('linux overlay2');
      expect((await docker('info')).err).not.toContain('ERROR');
    });

    test('ps: filters, and container prune', async () => {
      await must('run', '--name', 'done', '--label', 'a=1', 'busybox', 'true');
      await must('run', '-d', '--name', 'busy', 'busybox', 'sleep', '1000');
      expect(await must('ps', '-a', '--filter', 'label=a', '--format', '{{.Names}}')).toBe('done');
      expect(await must('ps', '-a', '--filter', 'status=running', '--format', '{{.Names}}')).toBe('busy');
      await must('container', 'prune', '--force');
      expect(await must('ps', '-a', '--format', '{{.Names}}')).toBe('busy');
    });

    test('pause, top, update and stats, as people type them', async () => {
      await must('run', '-d', '--name', 'one', 'busybox', 'sleep', '1000');
      await must('run', '-d', '--name', 'two', 'busybox', 'sleep', '1000');
      await expect
        .poll(() => must('top', 'one', '-o', 'pid,args'))
        .toMatch(/^PID +COMMAND\n\d+ +sleep 1000$/);
      await must('update', '--memory', '64m', '--memory-swap', '64m', '--restart', 'on-failure:2', 'one');
      const fields = '{{.HostConfig.Memory}} {{.HostConfig.RestartPolicy.MaximumRetryCount}}';
      expect(await must('inspect', '--format', fields, 'one')).toBe('67108864 2');
      await must('pause', 'one');
      expect(await must('ps', '--filter', 'status=paused', '--format', '{{.Names}}')).toBe('one');
      expect((await docker('exec', 'one', 'true')).err).toContain(
        'is paused, unpause the container before exec',
      );
      await must('unpause', 'one');
      const stats = ['stats', '--no-stream', '--format', '{{.Name}} {{.PIDs}} {{.MemUsage}}'];
      await expect
        .poll(async () => (await must(...stats)).split('\n').toSorted())
        .toEqual([expect.stringMatching(/^one 1 \d.* \/ 64MiB$/), expect.stringMatching(/^two 1 \d/)]);
    });

    test('run --init and --network none and host', async () => {
      expect(
        await must('run', '--rm', '--init', '--network', 'none', 'busybox', 'cat', '/proc/1/comm'),
      ).toMatch(/^(docker-init|tini)/);
      await must('run', '--rm', '--network', 'host', 'busybox', 'true');
    });

    test.runIf(!onReference)(
      'run, network connect: --link-local-ip, --driver-opt, --gw-priority',
      async () => {
        await must('network', 'create', 'one');
        await must('network', 'create', 'two');
        const endpoint =
          'name=one,link-local-ip=169.254.7.1,driver-opt=com.docker.network.endpoint.ifname=lan0';
        const container = ['--detach', '--name', 'links', 'busybox', 'sleep', '100'];
        await must('run', '--network', endpoint, ...container);
        const settings = 'com.docker.network.endpoint.sysctls=net.ipv4.conf.IFNAME.log_martians=1';
        const more = ['--link-local-ip', '169.254.8.1', '--driver-opt', settings];
        await must('network', 'connect', '--gw-priority', '5', ...more, 'two', 'links');
        const addresses = await must('exec', 'links', 'ip', '-o', 'addr');
        expect(addresses).toMatch(/lan0 +inet 169\.254\.7\.1\/16 /);
        expect(addresses).toMatch(/eth0 +inet 169\.254\.8\.1\/16 /);
        expect(await must('exec', 'links', 'ip', 'route')).toMatch(/^default via \S+ dev eth0/m);
        expect(await must('exec', 'links', 'cat', '/proc/sys/net/ipv4/conf/eth0/log_martians')).toBe('1');
        await must('rm', '--force', 'links');
        await must('network', 'rm', 'one', 'two');
      },
    );

    test.runIf(!onReference)('run: at the oldest API version', async () => {
      const old = execFile('docker', ['run', '--rm', 'busybox', 'sh', '-c', 'echo old; exit 2'], {
        env: { ...environment(), DOCKER_API_VERSION: '1.24' },
      });
      let out = '';
      old.stdout?.on('data', (chunk: string) => {
        out += chunk;
      });
      const code = await new Promise((resolve) => {
        old.once('close', resolve);
      });
      expect([code, out]).toEqual([2, 'old\n']);
    });
  },
  { alsoNeeds: ['docker-cli'] },
);
