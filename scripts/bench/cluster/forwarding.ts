import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTargets } from '../../../test/support/cluster/open-targets.ts';
import { until } from '../../../test/support/engine/http.ts';
import { findNginx } from './nginx.ts';
import { startTargets } from './target-process.ts';

/** What forwarding may add at the median, of the issue. */
const ADDED_MS_MAX = 0.3;
const ROUNDS = 5;
/** Clients that ask at the same time where requests in a second are counted. */
const CLIENTS = 16;

interface Way {
  name: string;
  port: number;
  times: number[];
  /** Requests in a second, of each round. */
  rates: number[];
}

/** Times requests to a target, through a listener and through nginx, in turns. */
export async function measureForwarding(requests: number): Promise<string[]> {
  using targets = await startTargets(3);
  await using open = await openTargets();
  const listener = await listening(open, targets.ports);
  using program = findNginx();
  using nginx = program === undefined ? undefined : await startNginx(program.path, targets.ports);
  const direct: Way = { name: 'direct', port: targets.ports[0] ?? 0, times: [], rates: [] };
  const forwarded: Way = { name: 'listener', port: listener, times: [], rates: [] };
  const others: Way[] =
    nginx === undefined ? [] : [{ name: 'nginx', port: nginx.port, times: [], rates: [] }];
  const agent = new http.Agent({ keepAlive: true });
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const way of [direct, forwarded, ...others]) {
      for (let count = 0; count < requests / ROUNDS; count += 1) {
        const start = performance.now();
        await get(way.port, agent);
        way.times.push(performance.now() - start);
      }
      way.rates.push(await rate(way.port, agent, requests / ROUNDS));
    }
  }
  agent.destroy();
  const base = at(direct, 0.5);
  const added = at(forwarded, 0.5) - base;
  const verdict = added <= ADDED_MS_MAX ? 'reached' : 'MISSED';
  return [
    ...[direct, forwarded, ...others].map(
      (way) =>
        `${way.name}: p50 ${at(way, 0.5).toFixed(3)} ms, p99 ${at(way, 0.99).toFixed(3)} ms, ` +
        `adds ${(at(way, 0.5) - base).toFixed(3)} ms at p50, ${median(way.rates).toFixed(0)} requests/s`,
    ),
    `forwarding adds ${added.toFixed(3)} ms at p50 (at most ${ADDED_MS_MAX}: ${verdict})`,
    ...others.map(
      (other) =>
        `beside ${other.name} it adds ${(added / (at(other, 0.5) - base)).toFixed(1)} times as much, and carries ` +
        `${(median(forwarded.rates) / median(other.rates)).toFixed(2)} times as many requests/s`,
    ),
  ];
}

/** Requests in a second of clients that ask at the same time. */
async function rate(port: number, agent: http.Agent, count: number): Promise<number> {
  const start = performance.now();
  const clients = Array.from({ length: CLIENTS }, async () => {
    for (let asked = 0; asked < count / CLIENTS; asked += 1) {
      await get(port, agent);
    }
  });
  await Promise.all(clients);
  return (count * 1000) / (performance.now() - start);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function at({ times }: Way, share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0;
}

function get(port: number, agent: http.Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: '127.0.0.1', port, agent }, (answer) => {
      answer.resume();
      answer.once('end', () => {
        if (answer.statusCode === 200) {
          resolve();
        } else {
          reject(new Error(`port ${port} answered ${answer.statusCode}`));
        }
      });
    });
    request.once('error', reject);
  });
}

/** A listener before the targets, without checks; its port. */
async function listening(
  open: Awaited<ReturnType<typeof openTargets>>,
  ports: readonly number[],
): Promise<number> {
  const config = { healthCheck: { enabled: false } };
  const { id } = await open.ask('createTargetGroup', { body: { name: 'bench', type: 'IP', config } });
  const params = { group: String(id) };
  await until('the group is active', async () => {
    const { status } = await open.ask('getTargetGroup', { params });
    return status === 'ACTIVE';
  });
  const targets = ports.map((port) => ({ id: '127.0.0.1', port }));
  await open.ask('registerTargets', { params, body: { targets } });
  const service = await open.ask('createService', { body: { name: 'bench' } });
  const port = await freePort();
  await open.ask('createListener', {
    params: { service: String(service['id']) },
    body: {
      name: 'main',
      protocol: 'HTTP',
      port,
      defaultAction: { forward: { targetGroups: [{ targetGroupIdentifier: id }] } },
    },
  });
  await open.targets.start();
  return port;
}

async function startNginx(program: string, ports: readonly number[]): Promise<{ port: number } & Disposable> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'berth-bench-nginx-'));
  const file = join(directory, 'nginx.conf');
  const servers = ports.map((one) => `server 127.0.0.1:${one};`).join(' ');
  writeFileSync(
    file,
    `daemon off; pid ${directory}/pid; error_log ${directory}/log; worker_processes 1; events {}
http {
  access_log off; client_body_temp_path ${directory}; proxy_temp_path ${directory};
  fastcgi_temp_path ${directory}; uwsgi_temp_path ${directory}; scgi_temp_path ${directory};
  upstream targets { ${servers} keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://targets; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`,
  );
  const child = spawn(program, ['-c', file, '-p', directory], { stdio: 'inherit' });
  const agent = new http.Agent();
  await until('nginx answers', () =>
    get(port, agent).then(
      () => true,
      () => false,
    ),
  );
  return {
    port,
    [Symbol.dispose]: () => {
      child.kill('SIGTERM');
      child.once('close', () => rmSync(directory, { recursive: true, force: true }));
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      // It listens at an address.
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
