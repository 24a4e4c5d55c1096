import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runClusterCommand } from '../../../../daemon/boot/cluster/run-command.ts';
import { shown } from '../../../../daemon/boot/cluster/targets/output.ts';
import { compileQuery } from '../../../../daemon/boot/cluster/targets/query.ts';
import { readStructure } from '../../../../daemon/boot/cluster/targets/shorthand.ts';
import { until } from '../../../support/engine/http.ts';
import { serveTargets } from '../../../support/cluster/served-targets.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'bth-command-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** What a command prints; what it throws is answered as `error: TEXT`. */
async function run(...argv: string[]): Promise<string> {
  let text = '';
  try {
    await runClusterCommand(argv, {
      readInput: () => '',
      write: (piece) => (text += piece),
      loadConfig: () => {
        throw new Error('no configuration is read');
      },
    });
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : String(error)}`;
  }
  return text;
}

function file(name: string, text: string): string {
  const place = path.join(directory, name);
  writeFileSync(place, text);
  return place;
}

describe('berthd cluster', () => {
  test('creates, lists, registers and deletes, with keys of a profile', async () => {
    await using served = await serveTargets();
    const { accessKeyId, secretAccessKey } = await served.keys('alice');
    process.env['AWS_SHARED_CREDENTIALS_FILE'] = file(
      'credentials',
      '[other]\naws_access_key_id = x\n[work]\n' +
        `aws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`,
    );
    const to = ['--endpoint-url', served.url, '--profile', 'work'];
    const config = 'port=8080,healthCheck={path=/live,healthyThresholdCount=3,matcher={httpCode=200-299}}';
    const made = await run(
      'create-target-group',
      ...to,
      '--name',
      'web',
      '--type',
      'IP',
      '--config',
      config,
      '--tags',
      'a=1,b=c d',
    );
    const group = JSON.parse(made);
    expect(group).toMatchObject({
      name: 'web',
      config: { port: 8080, healthCheck: { healthyThresholdCount: 3 } },
    });
    expect(await run('list-tags-for-resource', ...to, '--resource-arn', group.arn)).toBe(
      '{\n    "tags": {\n        "a": "1",\n        "b": "c d"\n    }\n}\n',
    );
    const id = ['--target-group-identifier', group.id];
    await run('register-targets', ...to, ...id, '--targets', 'id=10.0.0.1', 'id=10.0.0.2,port=81');
    expect(await run('list-targets', ...to, ...id, '--output', 'text', '--query', 'items[].[id,port]')).toBe(
      '10.0.0.1\t8080\n10.0.0.2\t81\n',
    );
    expect(await run('list-targets', ...to, ...id, '--page-size', '1', '--query', 'length(items)')).toBe(
      '2\n',
    );
    expect(await run('untag-resource', ...to, '--resource-arn', group.arn, '--tag-keys', 'a', 'b')).toBe('');
    expect(
      await run('list-target-groups', ...to, '--output', 'table', '--query', 'items[].{Name: name}'),
    ).toBe('+------+\n| Name |\n+------+\n| web  |\n+------+\n');
    expect(await run('delete-target-group', ...to, ...id, '--output', 'yaml', '--query', 'status')).toBe(
      'DELETE_IN_PROGRESS\n',
    );
    expect(await run('get-target-group', ...to, ...id)).toBe(`error: there is no target group ${group.id}`);
    const unknown = await run('list-target-groups', '--endpoint-url', served.url, '--profile', 'none');
    expect(unknown).toContain('--profile: ');
    const unsigned = await run('list-target-groups', '--endpoint-url', served.url, '--no-sign-request');
    expect(unsigned).toBe('error: the request is not signed, and has no token');
  });

  test('input comes from JSON or YAML, and flags go over it', async () => {
    await using served = await serveTargets({}, true);
    const to = [
      '--endpoint-url',
      served.url,
      '--no-sign-request',
      '--query',
      '[name,type]',
      '--output',
      'text',
    ];
    const json = '{"name": "one", "type": "IP"}';
    expect(await run('create-target-group', ...to, '--cli-input-json', json)).toBe('one\tIP\n');
    const yaml = `file://${file('in.yaml', 'name: two\ntype: IP\nconfig:\n  port: 81\n')}`;
    expect(await run('create-target-group', ...to, '--cli-input-yaml', yaml, '--type', 'INSTANCE')).toBe(
      'two\tINSTANCE\n',
    );
    expect(await run('create-target-group', ...to, '--cli-input-json', json, '--cli-input-yaml', yaml)).toBe(
      'error: --cli-input-json and --cli-input-yaml do not go together',
    );
  });

  test('the short form gives fields the kinds they have: a status and an id are text, a port is a number', async () => {
    await using served = await serveTargets({}, true);
    const to = ['--endpoint-url', served.url, '--no-sign-request'];
    const config = 'port=81,healthCheck={enabled=true,matcher={httpCode=200},path="/a,b"}'.replace(
      ',b',
      '-b',
    );
    const made = JSON.parse(
      await run(
        'create-target-group',
        ...to,
        '--name',
        'web',
        '--type',
        'INSTANCE',
        '--config',
        config,
        '--tags',
        'zip=01234',
      ),
    );
    expect(made.config).toMatchObject({
      port: 81,
      healthCheck: { matcher: { httpCode: '200' }, path: '/a-b' },
    });
    const tags = await run(
      'list-tags-for-resource',
      ...to,
      '--resource-arn',
      made.arn,
      '--query',
      'tags.zip',
    );
    expect(tags).toBe('"01234"\n');
    const id = ['--target-group-identifier', made.id];
    const check = `matcher={httpCode="200-299,301"},path='/c'`;
    const updated = await run(
      'update-target-group',
      ...to,
      ...id,
      '--health-check',
      check,
      '--query',
      'config.healthCheck.[path,matcher.httpCode]',
      '--output',
      'text',
    );
    expect(updated).toBe('/c\t200-299,301\n');
    await until(
      'the group is active',
      async () => (await run('get-target-group', ...to, ...id, '--query', 'status')) === '"ACTIVE"\n',
    );
    const registered = await run('register-targets', ...to, ...id, '--targets', 'id=123,port=82');
    expect(JSON.parse(registered)).toEqual({ successful: [{ id: '123', port: 82 }], unsuccessful: [] });
  });

  test('lists go on where one ended: --max-items tells a token, --starting-token takes it', async () => {
    await using served = await serveTargets({}, true);
    const to = ['--endpoint-url', served.url, '--no-sign-request'];
    for (const name of ['one', 'two', 'three', 'four', 'five']) {
      await run('create-target-group', ...to, '--name', name, '--type', 'IP');
    }
    const names = new Set<string>();
    const sizes: number[] = [];
    for (let token: string[] = []; ;) {
      const flags = ['--max-items', '2', '--page-size', '1', ...token];
      const { items, NextToken } = JSON.parse(await run('list-target-groups', ...to, ...flags));
      sizes.push(items.length);
      items.forEach(({ name }: { name: string }) => names.add(name));
      if (NextToken === undefined) {
        break;
      }
      token = ['--starting-token', NextToken];
    }
    expect([sizes, names.size]).toEqual([[2, 2, 1], 5]);
  });

  test('skeletons', async () => {
    const skeleton = JSON.parse(await run('create-target-group', '--generate-cli-skeleton'));
    expect(Object.keys(skeleton)).toEqual(['name', 'type', 'config', 'clientToken', 'tags']);
    expect(await run('create-target-group', '--generate-cli-skeleton', 'input')).toBe(
      `${JSON.stringify(skeleton, undefined, 4)}\n`,
    );
    expect(await run('create-target-group', '--generate-cli-skeleton', 'yaml-input')).toContain(
      'healthCheck:\n',
    );
    expect(JSON.parse(await run('create-target-group', '--generate-cli-skeleton', 'output'))).toHaveProperty(
      'arn',
    );
  });

  test.each([
    [['--name', 'x'], '--type: is required'],
    [
      ['--cli-input-json', '{"colour":1}'],
      'colour: is not known; known are name, type, config, clientToken, tags',
    ],
    [['--cli-input-json', '{'], '--cli-input-json: '],
    [['--cli-input-json', 'file:///nowhere.json'], '--cli-input-json: '],
    [['--ca-bundle', '/nowhere.pem', '--endpoint-url', 'https://127.0.0.1:1'], '--ca-bundle: '],
    [['--config', 'a="b'], '--config: lacks "'],
    [['--cli-input-json', '[]'], '--cli-input-json: must be an object'],
    [['--config', 'port'], '--config: must be KEY=VALUE,... or JSON, at ""'],
    [['--config', 'a={b=1'], '--config: lacks }'],
    [['--config', '{"a"'], '--config: is no JSON'],
    [['--output', 'xml'], '--output: must be json or yaml or text or table, not "xml"'],
    [['--color', 'red'], '--color: must be on or off or auto, not "red"'],
    [['--query', 'a['], '--query: "a[" is no query'],
    [['--query', 'nothing(a)'], '--query: there is no function nothing'],
    [['--generate-cli-skeleton', 'xml'], '--generate-cli-skeleton: must be input'],
    [['--endpoint-url', 'ftp://x'], '--endpoint-url: must be http://'],
    [['--cli-read-timeout', 'x'], '--cli-read-timeout: must be seconds, 0 for no limit, not "x"'],
    [['--cli-connect-timeout', '-1'], '--cli-connect-timeout'],
    [['--cli-binary-format', 'hex'], '--cli-binary-format: must be base64'],
    [['--cli-auto-prompt'], '--cli-auto-prompt: there are no prompts here'],
    [['--colour', 'on'], 'colour'],
  ])('%j is refused by name', async (argv, expected) => {
    const needed =
      argv.includes('--name') || argv.includes('--cli-input-json') ? [] : ['--name', 'web', '--type', 'IP'];
    const told = await run('create-target-group', ...needed, ...argv);
    expect(told).toMatch(/^error: /);
    expect(told).toContain(expected);
  });

  test('a server that does not answer is given up after the time that a flag says', async () => {
    await using served = await serveTargets({}, true);
    const none = await run('list-services', '--endpoint-url', 'http://127.0.0.1:1', '--no-sign-request');
    expect(none).toContain('cannot reach http://127.0.0.1:1/');
    expect(
      await run(
        'list-services',
        '--endpoint-url',
        served.url,
        '--no-sign-request',
        '--cli-read-timeout',
        '0',
      ),
    ).toBe('{\n    "items": []\n}\n');
  });
});

test.each([
  ['a=1', { a: 1 }],
  ['a=x y,b=true,c=', { a: 'x y', b: true, c: '' }],
  ['a={b=[1,2],c={d=e}},f=g', { a: { b: [1, 2], c: { d: 'e' } }, f: 'g' }],
  [`a="x,y}",b='it\\'s',c=""`, { a: 'x,y}', b: "it's", c: '' }],
  ['a=[{b=1},{b=2}]', { a: [{ b: 1 }, { b: 2 }] }],
  ['{"a":[1]}', { a: [1] }],
  ['', {}],
])('shorthand %s', (text, expected) => {
  expect(readStructure(text)).toEqual(expected);
});

const DATA = {
  items: [
    { name: 'b', port: 80, tags: ['x'], config: { path: '/b' } },
    { name: 'a', port: 81, tags: [], config: { path: '/a' } },
  ],
  'odd name': 1,
};

test.each([
  ['items[0].name', 'b'],
  ['items[-1].name', 'a'],
  ['items[9]', null],
  ['items[*].name', ['b', 'a']],
  ['items[].tags[]', ['x']],
  ['items[:1].name', ['b']],
  ['items[::-1].name', ['a', 'b']],
  ['items[?port > `80`].name', ['a']],
  ["items[?name == 'b' || port == `81`].port", [80, 81]],
  ["items[?name != 'b' && !tags].name", ['a']],
  [
    'items[].{n: name, p: config.path}',
    [
      { n: 'b', p: '/b' },
      { n: 'a', p: '/a' },
    ],
  ],
  [
    'items[].[name, port]',
    [
      ['b', 80],
      ['a', 81],
    ],
  ],
  ['items[*].config.path | [0]', '/b'],
  ['"odd name"', 1],
  ['sort(items[].name)', ['a', 'b']],
  ['sort_by(items, &port)[-1].name', 'a'],
  ['length(items)', 2],
  ["join(', ', items[].name)", 'b, a'],
  ["contains(items[0].tags, 'x')", true],
  ['items[0].config.*', ['/b']],
  ['nothing.below', null],
  ['keys(items[0].config)', ['path']],
  ['not_null(nothing, `"x"`)', 'x'],
  ['@."odd name"', 1],
])('query %s', (text, expected) => {
  expect(compileQuery(text)(DATA)).toEqual(expected);
});

test.each(['', 'a..b', 'a[', 'items[?]', '{a}', "'x", 'a b', '#'])('%j is no query', (text) => {
  expect(() => compileQuery(text)).toThrow(/is no query/);
});

test.each([
  ['text', { b: { c: 1 }, a: 'x', d: [{ e: true }], f: null }, 'x\tNone\nB\t1\nD\tTrue\n'],
  ['text', ['a', 'b'], 'a\tb\n'],
  ['text', { items: [{ a: 1, inside: [] }] }, 'ITEMS\t1\n'],
  ['yaml', { a: [1] }, 'a:\n  - 1\n'],
  [
    'table',
    { items: [{ a: 1, b: { c: 'x' } }] },
    '+---+-----+\n| a | b.c |\n+---+-----+\n| 1 | x   |\n+---+-----+\n',
  ],
] as const)('output %s of %j', (output, value, expected) => {
  expect(shown(value, output)).toBe(expected);
});
