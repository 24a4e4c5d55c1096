import { readdirSync, readFileSync, statSync, writeFileSync, existsSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROUTES } from '../../../api/routes/index.ts';
import type { Route } from '../../../api/routes/route.ts';
import type { Schema } from '../../../api/schemas/schema.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import { differences } from '../../support/engine/oracle.ts';
import { WAIT_MS } from '../../support/patience.ts';

const MARK = '/tmp/berth-test-pwned';

/** What has led engines out of their folders, into options of programs, or to a crash. */
const PAYLOADS: readonly string[] = [
  '..',
  '.',
  '/',
  '//',
  '../../canary',
  '../../../../../../../../etc/passwd',
  '/etc/passwd',
  '%2e%2e%2fcanary',
  '..\\canary',
  'a/../../canary',
  '-x',
  '--help',
  '--root=/tmp',
  '--',
  'a\nb',
  'a\r\nX-Injected: 1',
  '\t',
  ' ',
  'x'.repeat(4000),
  'é',
  '🐳',
  '\u202etxt.exe',
  '\ufeff',
  '%',
  '%s%n',
  `$(touch ${MARK})`,
  `\`touch ${MARK}\``,
  `;touch ${MARK};`,
  `|touch ${MARK}`,
  '__proto__',
  'constructor',
  'toString',
  '{}',
  '{"label":{"__proto__":true}}',
  '{"a":["b"]}',
  '[]',
  'null',
  '"',
  "'; DROP TABLE containers; --",
  '1e999',
  '-1',
  '99999999999999999999',
  '0x10',
  'NaN',
  'sha256:',
  `sha256:${'f'.repeat(64)}`,
  '@',
  ':',
];

const isServed = (route: Route): boolean => !('refused' in route);

const SOURCES = routeSources(path.resolve(import.meta.dirname, '../../../api/routes'));

function routeSources(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(path.join(folder, file), 'utf8'));
}

/** The query parameters that a route reads, from its source: a new one is tried as soon as it is written. */
function queryNames(route: Route): string[] {
  const names: string[] = [];
  for (const source of SOURCES) {
    const from = source.indexOf(`id: '${route.id}'`);
    if (from === -1) {
      continue;
    }
    const next = source.indexOf("    id: '", from + 1);
    const block = source.slice(from, next === -1 ? undefined : next);
    const helpers = [...block.matchAll(/(\w+)\((?:request\.)?query\b/g)].map(([, name = '']) =>
      functionText(name),
    );
    for (const text of [block, ...helpers]) {
      names.push(...[...text.matchAll(/query\s*(?:\.\w+\(|, )'([^']+)'/g)].map(([, name = '']) => name));
      names.push(...(text.includes('query.filters(') ? ['filters'] : []));
    }
  }
  return [...new Set(names)];
}

function functionText(name: string): string {
  const source = SOURCES.find((text) => text.includes(`function ${name}(`)) ?? '';
  const at = source.indexOf(`function ${name}(`);
  return at === -1 ? '' : source.slice(at, source.indexOf('\n}', at));
}

/** A value for each string of a body, by what has to stand around it. */
function bodies(schema: Schema, payload: string, depth = 0): unknown[] {
  switch (schema.type) {
    case 'string':
      return [payload];
    case 'array':
      return schema.items === undefined ? [] : bodies(schema.items, payload, depth + 1).map((item) => [item]);
    case 'object':
      return [
        ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
          depth > 6 ? [] : bodies(property, payload, depth + 1).map((value) => ({ [name]: value })),
        ),
        ...(schema.additionalProperties === undefined
          ? []
          : [
              ...bodies(schema.additionalProperties, payload, depth + 1).map((value) => ({ key: value })),
              JSON.parse(
                `{${JSON.stringify(payload)}:${JSON.stringify(aValueOf(schema.additionalProperties))}}`,
              ),
            ]),
      ];
    case 'integer':
    case 'number':
    case 'boolean':
    default:
      return [];
  }
}

function aValueOf(schema: Schema): unknown {
  return { object: {}, array: [], string: 'x', integer: 1, number: 1, boolean: true }[schema.type];
}

/** Something that exists for a route to work on, and that it cannot take away. */
function target(route: Route): string {
  const isRemoval = route.method === 'DELETE';
  if (route.path.startsWith('/containers/')) {
    return isRemoval ? 'nobody' : 'target';
  }
  return route.path.startsWith('/images/') && !isRemoval ? 'busybox:latest' : 'nobody';
}

interface Attempt {
  route: Route;
  /** Request target, encoded. */
  url: string;
  body?: unknown;
}

const filled = (route: Route, value: string): string =>
  route.path.replace(/[:*]\w+/, () => encodeURIComponent(value));

function attempts(): Attempt[] {
  return ROUTES.flatMap((route): Attempt[] => {
    const inPath = /[:*]/.test(route.path)
      ? PAYLOADS.map((payload) => ({ route, url: filled(route, payload) }))
      : [];
    if (!isServed(route)) {
      return inPath;
    }
    const url = filled(route, target(route));
    const inQuery = queryNames(route).flatMap((name) =>
      PAYLOADS.map((payload) => ({ route, url: `${url}?${name}=${encodeURIComponent(payload)}` })),
    );
    return [...inPath, ...inQuery];
  });
}

/** Bodies of all routes but the largest one, whose fields have a test of their own. */
function bodyAttempts(): Attempt[] {
  return ROUTES.flatMap((route): Attempt[] => {
    if (!('body' in route) || route.body.kind !== 'json' || route.id === 'container.create') {
      return [];
    }
    const { schema } = route.body;
    const url = filled(route, target(route));
    return PAYLOADS.flatMap((payload) => bodies(schema, payload).map((body) => ({ route, url, body })));
  });
}

/** There is no registry in this network, and a daemon goes on trying until its client has had enough. */
function asksRegistry({ path: pattern }: Route): boolean {
  return /^\/(auth|distribution|images\/(create|search))|\/push$/.test(pattern);
}

/** No swarm, no registry, and more networks than there are address ranges. */
function mayBeUnavailable(route: Route): boolean {
  return !isServed(route) || asksRegistry(route) || isOfSwarm(route) || route.path === '/networks/create';
}

function isOfSwarm({ path: pattern }: Route): boolean {
  return /^\/(swarm|nodes|services|tasks|secrets|configs)\b/.test(pattern);
}

/** Makes all attempts, several at a time; answers those that got a 500 or no answer. */
async function tryAll(engine: Engine, all: readonly Attempt[]): Promise<string[]> {
  const problems: string[] = [];
  const queue = all.values();
  const lane = async (): Promise<void> => {
    for (const { route, url, body } of queue) {
      const sent = body === undefined ? '' : JSON.stringify(body).slice(0, 200);
      const what = `${route.method} ${url.slice(0, 200)} ${sent}`;
      const signal = AbortSignal.timeout(asksRegistry(route) ? 200 : WAIT_MS);
      try {
        const options = body === undefined ? {} : { body };
        const answer = await engine.http.open(route.method, url, { signal, ...options });
        const status = answer.statusCode ?? 0;
        if (status === 500 || status > (mayBeUnavailable(route) ? 503 : 501)) {
          const [text] = await Promise.race([
            answer.toArray(),
            new Promise<[string]>((r) => setTimeout(r, 500, [''])),
          ]);
          // dockerd's status for what another server does, or that there is none.
          if (!(status === 500 && /^\{"message":"Get \\"https?:/.test(String(text)))) {
            problems.push(`${status} ${what} ${String(text).slice(0, 300)}`);
          }
        }
        answer.on('error', () => {
          // It is cut on purpose: logs and events go on for ever.
        });
        answer.destroy();
      } catch (error) {
        if (!(signal.aborted && asksRegistry(route))) {
          problems.push(`${what}: ${String(error)}`);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  return problems;
}

/** Files beside the daemon's own: name, size and time of change. */
function outside(engine: Engine): string[] {
  const { root, log } = engine.daemon.paths;
  const own = new Set(['data', path.basename(log), 'berth.sock']);
  return readdirSync(root)
    .filter((name) => !own.has(name))
    .map(
      (name) => `${name} ${statSync(path.join(root, name)).size} ${statSync(path.join(root, name)).mtimeMs}`,
    );
}

/** Sends a request line as it is; answers the status line. */
function raw(engine: Engine, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(engine.daemon.paths.socket);
    let text = '';
    socket.setTimeout(WAIT_MS, () => socket.destroy(new Error(`no answer to ${line}`)));
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.once('error', reject);
    socket.once('close', () => resolve(text.split('\r\n')[0] ?? ''));
    socket.end(`${line} HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  });
}

describeEngine('hostile strings', (engine) => {
  test.runIf(!onReference).each([
    ['path and query', attempts],
    ['bodies', bodyAttempts],
  ])(
    'class 24: in %s of every route they reach nothing, break nothing and are no fault of the engine',
    async (_where, list) => {
      const canary = path.join(engine.daemon.paths.root, 'canary');
      writeFileSync(canary, 'untouched');
      // Ends when asked to, also right after its start: `t=-1` means to wait for that as long as it takes.
      await engine.start(['sleep', '1000'], {}, { StopSignal: 'SIGKILL' }, 'target');
      const { pid } = engine.daemon;
      const before = outside(engine);
      const all = list();
      expect(all.length).toBeGreaterThan(200);
      const problems = await tryAll(engine, all);
      expect(problems.slice(0, 40)).toEqual([]);
      expect(outside(engine)).toEqual(before);
      expect(readFileSync(canary, 'utf8')).toBe('untouched');
      expect(existsSync(MARK)).toBe(false);
      expect([engine.daemon.isRunning(), engine.daemon.pid]).toEqual([true, pid]);
      expect(engine.daemon.log()).not.toMatch(/"level":"fatal"/);
      // Restarts that were asked for may still follow one another.
      await expect.poll(() => engine.removeAll().then(() => 'gone', String)).toBe('gone');
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
    },
    180_000,
  );

  test
    .runIf(!onReference)
    .each([
      'GET /v1.43/../containers/json',
      'GET /v1.43//containers/json',
      'GET /containers/../json',
      'GET /containers/%2e%2e/json',
      'GET /containers/%2e%2e%2f%2e%2e%2fetc%2fpasswd/json',
      'GET /containers/%00/json',
      'GET /containers/x%00y/json',
      'GET /containers/%zz/json',
      'GET /containers/%/json',
      'GET /containers/%ff%fe/json',
      'GET /containers/%c0%ae%c0%ae/json',
      'GET /containers/x/json?size=%00',
      'GET /images/..%2f..%2fetc/json',
      'GET /images/../../etc/passwd/json',
      'GET /images//json/json',
      'DELETE /volumes/..',
      'DELETE /volumes/%2e%2e',
      'DELETE /volumes/%2e',
      'DELETE /containers/..?force=1',
      'GET /CONTAINERS/JSON',
      'GET /v999999999999999999999.1/info',
      'GET /v1.0x2b/info',
      'GET *',
      'GET http://evil.example/containers/%2e%2e/json',
      `GET /containers/${'%2e%2e/'.repeat(2000)}json`,
    ])('class 24: the request line %j is refused', async (line) => {
    expect(await raw(engine, line)).toMatch(/^HTTP\/1\.1 (400|404|405|301) /);
  });

  test.runIf(!onReference)('class 24: names that become parts of paths have one form', async () => {
    const bad = PAYLOADS.filter((name) => !/^[a-zA-Z0-9][\w.-]+$/.test(name));
    for (const name of bad) {
      const query = encodeURIComponent(name);
      const body = { Image: 'busybox' };
      const created = await engine.http.request('POST', `/containers/create?name=${query}`, { body });
      // Of containers, whose name is never part of a path, the API document allows these at the front.
      expect([name, created.status]).toEqual([name, /^[_-][\w.-]*$/.test(name) ? 201 : 400]);
      const volume = await engine.http.request('POST', '/volumes/create', { body: { Name: name } });
      expect([name, volume.status]).toEqual([name, 400]);
      const bind = await engine.http.request('POST', '/containers/create', {
        body: { Image: 'busybox', HostConfig: { Binds: [`${name}:/data`] } },
      });
      if (bind.status !== 400) {
        // What begins with a slash is a path of the host, and `:` starts another part.
        expect([name, bind.status]).toEqual([expect.stringMatching(/^\/|^a\/|^$/), 201]);
      }
    }
    const volumes = readdirSync(path.join(engine.daemon.paths.dataRoot, 'volumes'));
    expect(volumes.filter((name) => !/^[a-zA-Z0-9][\w.-]+$/.test(name))).toEqual([]);
  });
});
