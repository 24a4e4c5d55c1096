import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';
import type { Requirement } from '../support/needs.ts';
import { inTrixie } from '../support/trixie.ts';

interface Said {
  code: number;
  out: string;
  err: string;
}

const PAGE = 'mkdir /www; echo shop >/www/index.html; httpd -f -p 80 -h /www';

const PROJECT = {
  version: '2.4',
  services: {
    web: {
      image: 'busybox',
      command: ['sh', '-c', PAGE],
      ports: ['8480:80'],
      networks: { front: { aliases: ['www'], ipv4_address: '10.41.0.80' }, back: {} },
      volumes: ['data:/data', 'cache:/cache'],
    },
    worker: {
      image: 'busybox',
      command: ['sh', '-c', 'echo worker; touch /data/$$HOSTNAME; sleep 1000'],
      networks: { back: { priority: 100 }, third: { aliases: ['crew'] } },
      volumes: ['data:/data'],
      depends_on: ['web'],
      stop_grace_period: '0s',
    },
    client: {
      image: 'busybox',
      // Static busybox resolves with its own code in ping, by the servers of resolv.conf.
      command: ['sh', '-c', 'sleep 1000'],
      volumes: ['/usr:/usr:ro', '/lib:/lib:ro', '/lib64:/lib64:ro'],
      networks: ['front', 'third'],
      links: ['web:site'],
      stop_grace_period: '0s',
    },
  },
  volumes: {
    data: { labels: { of: 'shop' } },
    cache: { driver_opts: { type: 'tmpfs', device: 'tmpfs', o: 'size=1m' } },
  },
  networks: {
    front: { ipam: { config: [{ subnet: '10.41.0.0/24' }] } },
    back: { internal: true },
    third: { driver: 'bridge', driver_opts: { 'com.docker.network.bridge.name': 'shop3' } },
  },
};

/** A program for Python that prints the addresses of each name on a line. */
function lookUp(...names: string[]): string {
  return `import socket
for name in ${JSON.stringify(names)}:
  print(*sorted({i[4][0] for i in socket.getaddrinfo(name, None, socket.AF_INET)}))`;
}

/** Debian 12's docker-compose, in Python, and that of Debian 13, a plugin of the docker CLI. */
const VERSIONS: { title: string; needs: Requirement; command: () => [string, ...string[]] }[] = [
  {
    title: 'docker-compose 1.29',
    needs: 'docker-compose',
    command: () => ['docker-compose', '--no-ansi'],
  },
  {
    title: 'compose v2',
    needs: 'trixie',
    command: () => inTrixie('docker', 'compose', '--ansi', 'never'),
  },
];

for (const { title, needs, command } of VERSIONS) {
  describeEngine(
    title,
    (engine) => {
      const compose = (...args: string[]): Promise<Said> => {
        const folder = `${engine.daemon.paths.root}/shop`;
        mkdirSync(folder, { recursive: true });
        // YAML is a superset of JSON.
        writeFileSync(`${folder}/docker-compose.yml`, JSON.stringify(PROJECT));
        return new Promise((resolve) => {
          const env = {
            PATH: process.env['PATH'] ?? '',
            HOME: engine.daemon.paths.root,
            DOCKER_HOST: `unix://${engine.daemon.paths.socket}`,
          };
          const [file, ...options] = command();
          const child = execFile(
            file,
            [...options, '--project-directory', folder, '--file', `${folder}/docker-compose.yml`, ...args],
            { env, cwd: folder, timeout: 120_000 },
            (error, out, err) => {
              resolve({ code: error === null ? 0 : (child.exitCode ?? 1), out, err });
            },
          );
          child.stdin?.end();
        });
      };
      const must = async (...args: string[]): Promise<string> => {
        const { code, out, err } = await compose(...args);
        expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
        return out;
      };
      test('three services, three networks and two volumes come up, scale and go without a trace', async () => {
        await must('up', '-d', '--scale', 'worker=2');
        await expect.poll(() => engine.daemon.fetch('http://127.0.0.1:8480/')).toBe('shop\n');
        await expect.poll(() => must('logs', '--no-color')).toMatch(/worker[_-]2\s+\| worker/);

        await must('up', '-d', '--scale', 'worker=3', '--no-recreate');
        const found = await must(
          'exec',
          '-T',
          'client',
          '/usr/bin/python3',
          '-c',
          lookUp('web', 'www', 'crew'),
        );
        const [web, www, crew = ''] = found.trim().split('\n');
        expect([web, www, crew.split(' ').length]).toEqual(['10.41.0.80', '10.41.0.80', 3]);
        await expect
          .poll(async () => (await must('exec', '-T', 'web', 'ls', '/data')).trim().split('\n'))
          .toHaveLength(3);
        expect(await must('exec', '-T', 'web', 'grep', ' /cache ', '/proc/mounts')).toMatch(
          / tmpfs .*size=1024k/,
        );
        if (needs === 'docker-compose') {
          // A run beside it is linked to what its service is linked to, and to the service itself.
          const beside = ['/usr/bin/python3', '-c', lookUp('site', 'client')];
          const linked = (await must('run', '--rm', '-T', 'client', ...beside)).trim().split('\n');
          const service = (await engine.inspect('shop_client_1')).NetworkSettings.Networks['shop_front'];
          expect(linked).toEqual(['10.41.0.80', expect.stringContaining(service?.IPAddress ?? 'none')]);
        }
        // Nothing has changed: nobody is made anew.
        const { err } = await compose('up', '-d', '--scale', 'worker=3');
        expect(err).not.toMatch(/recreat/i);

        await must('restart', '-t', '0', 'web');
        await expect.poll(() => engine.daemon.fetch('http://127.0.0.1:8480/')).toBe('shop\n');
        await must('down', '-t', '0', '-v');
        const networks = await engine.http.ok<{ Name: string }[]>('GET', '/networks');
        expect(networks.map(({ Name }) => Name).toSorted()).toEqual(['bridge', 'host', 'none']);
        expect(await engine.list()).toEqual([]);
        expect(await engine.http.ok('GET', '/volumes')).toMatchObject({ Volumes: [] });
      }, 240_000);
    },
    { alsoNeeds: [needs] },
  );
}
