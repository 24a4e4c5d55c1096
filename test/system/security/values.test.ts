import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import type { Answer } from '../../support/engine/http.ts';

/** Sends JSON as it is written: JSON.stringify would lose what is tested. */
function postText(engine: Engine, path: string, text: string): Promise<Answer> {
  return engine.http.request('POST', path, {
    body: Buffer.from(text),
    headers: { 'Content-Type': 'application/json' },
  });
}

/** How long what costs next to nothing may take; a machine may be busy with others, but not each time. */
const AT_ONCE_MS = 1000;
const TRIES = 5;

/** Milliseconds that a request and a ping sent with it take at most: the best of several tries. */
async function duration(engine: Engine, method: string, path: string, body?: unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && best >= AT_ONCE_MS; tries += 1) {
    const at = performance.now();
    await Promise.all([
      engine.http.request(method, path, body === undefined ? {} : { body }),
      engine.http.request('GET', '/_ping'),
    ]);
    best = Math.min(best, performance.now() - at);
  }
  return best;
}

const KEYS = ['constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];

describeEngine('values', (engine) => {
  test('class 27: names of JavaScript’s own are labels like any other', async () => {
    const labels = KEYS.map((key) => `${JSON.stringify(key)}:"label of ${key}"`).join(',');
    const text = `{"Image":"busybox","Labels":{${labels}}}`;
    const created = await postText(engine, '/containers/create', text);
    expect(created.status).toBe(201);
    const { Id } = JSON.parse(created.text);
    const inspected = await engine.http.request('GET', `/containers/${Id}/json`);
    const listed = await engine.http.request('GET', '/containers/json?all=1');
    for (const answer of [inspected, listed]) {
      for (const key of KEYS) {
        expect(answer.text).toContain(`${JSON.stringify(key)}:"label of ${key}"`);
      }
    }
    for (const key of KEYS) {
      const filters = encodeURIComponent(JSON.stringify({ label: [`${key}=label of ${key}`] }));
      const found = await engine.http.request('GET', `/containers/json?all=1&filters=${filters}`);
      expect([key, JSON.parse(found.text).length]).toEqual([key, 1]);
    }
    // The one that an object cannot hold is refused by name.
    const refused = await postText(
      engine,
      '/containers/create',
      '{"Image":"busybox","Labels":{"__proto__":"x"}}',
    );
    expect([refused.status, refused.text]).toEqual(
      onReference ? [201, expect.anything()] : [400, expect.stringContaining('__proto__')],
    );
    // A container without labels has none of them.
    const plain = await engine.create(['true']);
    for (const key of KEYS) {
      const filters = encodeURIComponent(JSON.stringify({ label: [key], id: [plain] }));
      const found = await engine.http.request('GET', `/containers/json?all=1&filters=${filters}`);
      expect([key, found.text.trim()]).toEqual([key, '[]']);
    }
    if (!onReference) {
      await engine.daemon.restart();
      expect((await engine.http.request('GET', `/containers/${Id}/json`)).text).toContain(
        '"label of valueOf"',
      );
    }
  });

  test.each([
    ['HostConfig', '{"__proto__":{"HostConfig":{"Privileged":true}},"Image":"busybox","Cmd":["true"]}'],
    ['Privileged', '{"Image":"busybox","Cmd":["true"],"HostConfig":{"__proto__":{"Privileged":true}}}'],
    ['constructor', '{"Image":"busybox","constructor":{"prototype":{"Privileged":true}}}'],
    ['environment', '{"Image":"busybox","Env":["__proto__=x","constructor=y"]}'],
    ['ports', '{"Image":"busybox","ExposedPorts":{"__proto__":{}}}'],
    ['port bindings', '{"Image":"busybox","HostConfig":{"PortBindings":{"__proto__":[{"HostPort":"1"}]}}}'],
    ['volumes', '{"Image":"busybox","Volumes":{"__proto__":{}}}'],
    ['tmpfs', '{"Image":"busybox","HostConfig":{"Tmpfs":{"__proto__":"size=1"}}}'],
    ['sysctls', '{"Image":"busybox","HostConfig":{"Sysctls":{"__proto__":"1"}}}'],
    [
      'endpoints',
      '{"Image":"busybox","NetworkingConfig":{"EndpointsConfig":{"__proto__":{"NetworkID":"x"}}}}',
    ],
    [
      'log options',
      '{"Image":"busybox","HostConfig":{"LogConfig":{"Type":"json-file","Config":{"__proto__":"x"}}}}',
    ],
  ])('class 27: a prototype in %s gives nobody anything', async (_where, text) => {
    const answer = await postText(engine, '/containers/create', text);
    expect([201, 400, ...(onReference ? [500] : [])]).toContain(answer.status);
    const plain = await engine.inspect(await engine.create(['true']));
    expect([plain.HostConfig.Privileged, plain.Config.Labels]).toEqual([false, {}]);
    if (answer.status === 201) {
      const made = await engine.inspect(JSON.parse(answer.text).Id);
      expect(made.HostConfig.Privileged).toBe(false);
    }
    expect(({} as Record<string, unknown>)['Privileged']).toBeUndefined();
  });

  test.runIf(!onReference).each([
    ['Memory', '9007199254740993'],
    ['Memory', '18446744073709551616'],
    ['MemorySwap', '9007199254740993'],
    ['MemoryReservation', '9007199254740993'],
    ['NanoCpus', '9007199254740993'],
    ['ShmSize', '9007199254740993'],
    ['PidsLimit', '9007199254740993'],
    ['CpuShares', '1.5'],
    ['Memory', '1e400'],
    ['Memory', '"67108864"'],
    ['CpuQuota', 'true'],
  ])('class 27: a number that would be rounded is refused: %s %s', async (field, value) => {
    const answer = await postText(
      engine,
      '/containers/create',
      `{"Image":"busybox","HostConfig":{"${field}":${value}}}`,
    );
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(field)]);
  });

  test('class 27: the largest exact number is kept as it is', async () => {
    const text = '{"Image":"busybox","HostConfig":{"MemorySwap":-1,"Memory":9007199254740991}}';
    const created = await postText(engine, '/containers/create', text);
    const { HostConfig } = await engine.inspect(JSON.parse(created.text).Id);
    expect(HostConfig.Memory).toBe(9007199254740991);
  });

  test.runIf(!onReference)('class 27: no reference keeps the event loop', async () => {
    const references = [
      'a/'.repeat(6000),
      `${'a'.repeat(12_000)}!`,
      'a:'.repeat(6000),
      '-'.repeat(12_000),
      `${'a_'.repeat(6000)}/`,
      `${'a.'.repeat(6000)}..`,
    ];
    for (const reference of references) {
      const name = encodeURIComponent(reference);
      const took = [
        await duration(engine, 'GET', `/images/${name}/json`),
        await duration(engine, 'POST', `/images/busybox/tag?repo=${name}&tag=x`),
        await duration(engine, 'POST', '/containers/create', { Image: 'a/'.repeat(100_000) + reference }),
        await duration(
          engine,
          'GET',
          `/images/json?filters=${encodeURIComponent(JSON.stringify({ reference: [reference] }))}`,
        ),
      ];
      expect([reference.slice(0, 10), took.filter((ms) => ms > AT_ONCE_MS)]).toEqual([
        reference.slice(0, 10),
        [],
      ]);
    }
  });

  test.runIf(!onReference)('class 27: no pattern of a filter keeps the event loop', async () => {
    await engine.create(['true'], {}, { Labels: { long: 'a'.repeat(5000) } }, `${'a'.repeat(60)}_`);
    const patterns = [
      '^(a+)+$',
      '(a|a)*b',
      '(a*)*c',
      '(.*a){25}b',
      'a'.repeat(10_000),
      '('.repeat(5000),
      '[',
      '(?=a)',
      '\\',
      '**********a',
    ];
    const places = [
      '/containers/json?all=1&',
      '/volumes?',
      '/networks?',
      '/images/json?',
      '/events?since=1&until=2&',
    ];
    for (const pattern of patterns) {
      for (const place of places) {
        for (const key of ['name', 'reference', 'label', 'ancestor', 'id', 'volume', 'network']) {
          const filters = encodeURIComponent(JSON.stringify({ [key]: [pattern] }));
          const ms = await duration(engine, 'GET', `${place}filters=${filters}`);
          expect([place, key, pattern.slice(0, 20), ms < AT_ONCE_MS]).toEqual([
            place,
            key,
            pattern.slice(0, 20),
            true,
          ]);
        }
      }
    }
  });
});
