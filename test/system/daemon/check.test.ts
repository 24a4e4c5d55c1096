import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { spawn as spawnTerminal } from 'node-pty';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngine, Engine, onReference } from '../../support/engine/engine.ts';
import { busyboxImageTar, imageTar } from '../../support/images/images.ts';
import { needsEngine } from '../../support/needs.ts';
import { differences } from '../../support/engine/oracle.ts';
import { damages, type Root } from '../../support/storage/store-damages.ts';
import { tar } from '../../support/images/tar.ts';

const MAIN = path.resolve(import.meta.dirname, '../../../dist/daemon/main.js');
// There is nothing like it in dockerd.
const suite = onReference ? test.skip : test;

interface Checked {
  code: number | null;
  text: string;
}

function check(engine: Engine, ...flags: string[]): Checked {
  const argv = ['system', 'check', '--config-file', engine.daemon.paths.config, ...flags];
  const { status, stdout, stderr } = spawnSync(MAIN, argv, { encoding: 'utf8' });
  return { code: status, text: stdout + stderr };
}

/** Everything a layer can hold, above a busybox. */
const EXTRAS = tar([
  { name: 'etc/', type: '5', mode: 0o755 },
  { name: 'etc/greeting', content: 'hello\n' },
  { name: 'etc/empty' },
  { name: 'etc/same', type: '1', linkName: 'etc/greeting' },
  { name: 'etc/link', type: '2', linkName: 'greeting', mode: 0o777 },
  { name: 'etc/.wh.shadow' },
  { name: 'implied/file', content: 'x' },
]);
const IMAGE = busyboxImageTar({ tags: ['store:1'], extraLayers: [EXTRAS] });

/** SQL with all of SQLite's guards off. */
function sqlOf(dataRoot: string): Root['sql'] {
  return (text, ...values) => {
    const database = new Database(path.join(dataRoot, 'berth.db'));
    try {
      database.unsafeMode(true);
      database.pragma('foreign_keys = OFF');
      database.pragma('writable_schema = ON');
      const statement = database.prepare(text);
      return statement.reader ? statement.all(...values) : [statement.run(...values)];
    } finally {
      database.close();
    }
  };
}

/** Runs the image and starts the container of `prepare` again. */
async function runsAsBefore(engine: Engine, { containerId }: Root): Promise<void> {
  expect(await engine.run(['cat', '/etc/greeting'], {}, { Image: 'store:1' })).toMatchObject({
    exitCode: 0,
    stdout: 'hello\n',
  });
  await engine.http.ok('POST', '/containers/keeper/start');
  expect(await engine.wait(containerId)).toBe(0);
  expect((await engine.logs(containerId)).stdout).toMatch(/hello\nmine\n(mine\n)*noted\n$/);
}

/** An image of two layers, a stopped container with a file of its own, a volume with another; and no daemon. */
async function prepare(engine: Engine): Promise<Root> {
  await engine.http.ok('POST', '/images/load?quiet=1', IMAGE);
  const containerId = await engine.start(
    ['sh', '-c', 'echo mine >>/own; cat /etc/greeting /own /data/note; [ ! -e /etc/shadow ]'],
    { Binds: ['kept:/data'] },
    { Image: 'store:1' },
    'keeper',
  );
  await engine.wait(containerId);
  const { dataRoot } = engine.daemon.paths;
  writeFileSync(path.join(dataRoot, 'volumes/kept/_data/note'), 'noted\n');
  const { GraphDriver } = await engine.http.ok<{ GraphDriver: { Data: Record<string, string> } }>(
    'GET',
    '/images/store:1/json',
  );
  const diff = GraphDriver.Data['UpperDir'] ?? '';
  await engine.daemon.stop();
  return {
    dataRoot,
    diff,
    layer: path.dirname(diff),
    containerId,
    container: path.join(dataRoot, 'containers', containerId),
    sql: sqlOf(dataRoot),
  };
}

async function clean(engine: Engine, root: Root): Promise<void> {
  await engine.daemon.stop();
  root.sql('DELETE FROM quarantine');
  rmSync(path.join(root.dataRoot, 'quarantine'), { recursive: true, force: true });
  await engine.daemon.up();
  await engine.removeAll();
  await engine.http.ok('DELETE', '/volumes/kept?force=1');
  await engine.http.ok('DELETE', '/images/store:1?force=1');
  await expect.poll(() => differences(engine.daemon)).toEqual([]);
}

const NOTHING = /^\S+: nothing is damaged\n$/;

needsEngine()('a store damaged on purpose', () => {
  const engine = new Engine();
  let root: Root;
  beforeAll(async () => {
    await engine.up({});
    root = await prepare(engine);
    expect(check(engine)).toMatchObject({ code: 0, text: expect.stringMatching(NOTHING) });
  });
  afterAll(() => engine.down());

  suite.each(damages)('$name: is found, repaired, and found no more', async (damage) => {
    damage.make(root);
    expect(check(engine)).toMatchObject({ code: 1, text: expect.stringMatching(damage.finds) });
    const repaired = check(engine, '--repair');
    expect(repaired).toMatchObject({ code: damage.repair === 'load' ? 1 : 0 });
    if (damage.repair !== 'here') {
      expect(repaired.text).toMatch(/pull or load/);
      await engine.daemon.up();
      const refused = await engine.http.request('POST', '/containers/create', { body: { Image: 'store:1' } });
      expect([refused.status, refused.text]).toEqual([
        404,
        expect.stringContaining('No such image: store:1'),
      ]);
      await engine.http.ok('POST', '/images/load?quiet=1', IMAGE);
      await runsAsBefore(engine, root);
      await engine.daemon.stop();
    }
    expect(check(engine)).toMatchObject({ code: 0, text: expect.stringMatching(NOTHING) });
    damage.afterwards?.(root);
  });

  suite('after all these repairs the image and the container run', async () => {
    await engine.daemon.up();
    await runsAsBefore(engine, root);
    await clean(engine, root);
  });
});

describeEngine('system check', (engine) => {
  suite.each([
    ['check.repair.rebuilt', (root: Root) => chmodSync(path.join(root.diff, 'etc/greeting'), 0o600)],
    ['check.repair.aside', (root: Root) => writeFileSync(path.join(root.diff, 'etc/greeting'), 'x')],
    [
      'check.repair.lost',
      (root: Root) => {
        root.sql(
          `INSERT INTO image_digests (repository, digest, image_id)
           SELECT 'localhost/store', 'sha256:00', image_id FROM tags WHERE repository LIKE '%/store'`,
        );
        writeFileSync(path.join(root.diff, 'etc/greeting'), 'x');
      },
    ],
    ['images.load.restore', (root: Root) => rmSync(root.layer, { recursive: true })],
  ])('whoever repairs may die at %s: the next one goes on', async (point, damage) => {
    const root = await prepare(engine);
    damage(root);
    const env = { ...process.env, BERTH_FAILPOINTS: `${point}=sigkill` };
    if (point.startsWith('check')) {
      const argv = ['system', 'check', '--repair', '--config-file', engine.daemon.paths.config];
      expect(spawnSync(MAIN, argv, { env }).signal).toBe('SIGKILL');
    } else {
      await engine.daemon.up({ BERTH_FAILPOINTS: `${point}=sigkill` });
      await expect(engine.http.ok('POST', '/images/load?quiet=1', IMAGE)).rejects.toThrow();
      await engine.daemon.ended();
    }
    check(engine, '--repair');
    await engine.daemon.up();
    await engine.http.ok('POST', '/images/load?quiet=1', IMAGE);
    await runsAsBefore(engine, root);
    await engine.daemon.stop();
    expect(check(engine)).toMatchObject({ code: 0, text: expect.stringMatching(NOTHING) });
    await engine.daemon.up();
    await clean(engine, root);
  });

  suite('a damaged layer is left alone while a container runs on it', async () => {
    await engine.http.ok('POST', '/images/load?quiet=1', IMAGE);
    const id = await engine.start(['sleep', '1000'], {}, { Image: 'store:1' }, 'runner');
    const image = await engine.http.ok<{ GraphDriver: { Data: Record<string, string> } }>(
      'GET',
      '/images/store:1/json',
    );
    const diff = image.GraphDriver.Data['UpperDir'] ?? '';
    chmodSync(path.join(diff, 'etc/greeting'), 0o600);
    expect(check(engine).text).toMatch(/"etc\/greeting" has mode 600[\s\S]*A daemon works on it/);
    expect(check(engine, '--repair')).toMatchObject({
      code: 2,
      text: expect.stringMatching(/is in use by another berthd \(pid \d+\): stop it first/),
    });
    await engine.daemon.stop();
    expect(check(engine, '--repair')).toMatchObject({
      code: 1,
      text: expect.stringMatching(/not repaired: container runner runs on it: stop it and repair again/),
    });
    await engine.daemon.up();
    await engine.remove(id);
    await engine.daemon.stop();
    expect(check(engine, '--repair')).toMatchObject({ code: 0 });
    await engine.daemon.up();
    await engine.http.ok('DELETE', '/images/store:1?force=1');
  });

  suite('R74: what the next start sweeps is told and is no damage', async () => {
    const { dataRoot } = engine.daemon.paths;
    await engine.daemon.stop();
    const left = [
      'layers/tmp-0011223344556677/diff',
      'layers/zz/diff',
      `containers/${'a'.repeat(64)}/upper`,
      `containers/${'b'.repeat(64)}/removed`,
      'volumes/.removed-0011223344556677-gone',
      'tmp/spool-1',
    ];
    for (const folder of left) {
      mkdirSync(path.join(dataRoot, folder), { recursive: true });
    }
    const { code, text } = check(engine);
    expect([code, text.split(': nothing is damaged\n')[0]?.match(/no damage/g)?.length]).toEqual([0, 6]);
    expect(JSON.parse(check(engine, '--json').text)).toMatchObject({ damaged: 0, leftOver: 6 });
    await engine.daemon.up();
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
    await engine.daemon.stop();
    expect(check(engine)).toMatchObject({ code: 0, text: expect.stringMatching(NOTHING) });
    await engine.daemon.up();
  });

  suite('R74: right after a clean stop with deletions under way nothing is taken for damage', async () => {
    const { daemon } = engine;
    const many = Array.from({ length: 3000 }, (_, index) => ({ name: `many/f${index}`, content: 'x' }));
    const extraLayers = [tar(many)];
    await engine.http.ok('POST', '/images/load?quiet=1', busyboxImageTar({ tags: ['many:1'], extraLayers }));
    const id = await engine.start(['sh', '-c', 'cp -r /many /copy'], {}, { Image: 'many:1' });
    await engine.wait(id);
    await engine.remove(id);
    await engine.http.ok('DELETE', '/images/many:1?force=1');
    await daemon.stop();
    expect(check(engine)).toMatchObject({ code: 0, text: expect.stringMatching(/nothing is damaged\n$/) });
    await daemon.up();
  });

  suite('R74: beside a daemon at work nothing is taken for damage', async () => {
    const end = Date.now() + 6000;
    const work = async (lane: number): Promise<void> => {
      for (let round = 0; Date.now() < end; round += 1) {
        const name = `work${lane}:${round}`;
        const content = `${name} ${'x'.repeat(50_000)}`;
        await engine.http.ok(
          'POST',
          '/images/load?quiet=1',
          imageTar([tar([{ name: 'f', content }])], { tags: [name] }),
        );
        const { id } = await engine.run(['true']);
        await engine.remove(id);
        await engine.http.ok('DELETE', `/images/${name}?force=1`);
      }
    };
    const working = work(0);
    while (Date.now() < end) {
      const { text } = await checkBeside(engine);
      expect(text).toMatch(/nothing is damaged\n$/);
    }
    await working;
  });

  suite.each([
    [['system'], 'unknown command: system ; there is "system check"'],
    [['system', 'prune'], 'unknown command: system prune; there is "system check"'],
    [['system', 'check', '--fix'], 'unknown flag: --fix'],
    [
      ['system', 'check', '--data-root', '/no/such/root'],
      'system check: there is no data root /no/such/root',
    ],
  ])('%j: exit code 2 and a sentence', (argv, text) => {
    const { status, stderr } = spawnSync(MAIN, argv, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([2, `berthd: ${text}\n`]);
  });

  suite('system check: a terminal shows what is looked at, on one line that is gone in the end', async () => {
    const root = await prepare(engine);
    chmodSync(path.join(root.diff, 'etc/empty'), 0o600);
    const screen = await checkOnTerminal(engine);
    const [start = '', ...lines] = screen.split('\r\u001B[K');
    const shown = lines.filter((line) => line.startsWith('checking '));
    expect(start).toBe('');
    expect(shown.slice(0, 3)).toEqual(
      ['database', 'records', 'images'].map((what) => `checking ${what} ...`),
    );
    expect(shown).toContain('checking layers 0 % ...');
    expect(shown.filter((line) => /layers \d+ %/.test(line)).length).toBeGreaterThan(1);
    expect(shown.every((line) => line.endsWith(' ...'))).toBe(true);
    // What stays: the same as without a terminal, where nothing else is written.
    const { text } = check(engine);
    const stays = lines.filter((line) => !line.startsWith('checking '));
    expect(stays.join('').replaceAll('\r\n', '\n')).toBe(text);
    expect(text).toContain('etc/empty');
    check(engine, '--repair');
    await engine.daemon.up();
    await clean(engine, root);
  });

  suite('--json: one document with every finding', async () => {
    const root = await prepare(engine);
    chmodSync(path.join(root.diff, 'etc/empty'), 0o600);
    const { code, text } = check(engine, '--json');
    expect([code, JSON.parse(text)]).toEqual([
      1,
      {
        dataRoot: root.dataRoot,
        besideDaemon: false,
        damaged: 1,
        leftOver: 0,
        findings: [
          {
            kind: 'layer',
            subject: expect.stringMatching(/^layer sha256:[0-9a-f]{64} of docker.io\/library\/store:1$/),
            problem: '"etc/empty" has mode 600, should have 644',
            remedy: 'its files are made anew from its recipe',
            state: 'found',
          },
        ],
      },
    ]);
    expect(JSON.parse(check(engine, '--json', '--repair').text)).toMatchObject({ damaged: 0 });
    expect(readdirSync(path.join(root.dataRoot, 'tmp'))).toEqual([]);
    await engine.daemon.up();
    await clean(engine, root);
  });
});

/** All that the check wrote to a terminal. */
async function checkOnTerminal(engine: Engine): Promise<string> {
  const argv = ['system', 'check', '--config-file', engine.daemon.paths.config];
  return await new Promise((resolve) => {
    const terminal = spawnTerminal(MAIN, argv, { cols: 200, rows: 30 });
    let screen = '';
    terminal.onData((data) => {
      screen += data;
    });
    terminal.onExit(() => resolve(screen));
  });
}

/** Without holding up this process, which works on the daemon meanwhile. */
async function checkBeside(engine: Engine): Promise<{ text: string }> {
  const argv = ['system', 'check', '--config-file', engine.daemon.paths.config];
  return await new Promise((resolve) => {
    execFile(MAIN, argv, (_error, stdout, stderr) => resolve({ text: stdout + stderr }));
  });
}
