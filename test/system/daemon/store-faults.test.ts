import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { differences } from '../../support/engine/oracle.ts';
import { tar } from '../../support/images/tar.ts';

// What is done to a daemon and its files here is done to berthd.
const suite = onReference ? test.skip : test;
const LAYER = tar([
  { name: 'etc/', type: '5', mode: 0o755 },
  { name: 'etc/note', content: 'of the layer' },
]);
const CONTEXT = tar([
  { name: 'Dockerfile', content: 'FROM busybox\nCOPY note /note\n' },
  { name: 'note', content: 'of the context' },
]);

describeEngine(
  'faults of the store',
  (engine) => {
    const converged = (): Promise<void> => expect.poll(() => differences(engine.daemon)).toEqual([]);
    const forget = (...names: string[]): Promise<unknown> =>
      Promise.all(names.map((name) => engine.http.request('DELETE', `/images/${name}?force=1`)));

    /** Failpoints passed by an action. */
    async function traceOf(action: () => Promise<unknown>): Promise<string[]> {
      const { failpointTrace } = engine.daemon.paths;
      const read = (): string[] =>
        existsSync(failpointTrace) ? readFileSync(failpointTrace, 'utf8').trim().split('\n') : [];
      const before = read().length;
      await action();
      return read().slice(before);
    }

    suite.each([
      [
        'load',
        () =>
          engine.http.ok(
            'POST',
            '/images/load?quiet=1',
            busyboxImageTar({ tags: ['made:1'], extraLayers: [LAYER] }),
          ),
      ],
      ['import', () => engine.http.ok('POST', '/images/create?fromSrc=-&repo=made&tag=1', LAYER)],
      [
        'commit',
        async () => {
          const { id } = await engine.run(['sh', '-c', 'echo x >/x']);
          await engine.http.ok('POST', `/commit?container=${id}&repo=made&tag=1`);
        },
      ],
      ['build', () => engine.http.ok('POST', '/build?t=made:1', CONTEXT)],
    ])(
      'R8: %s: the files are on the disk before the row that tells of them, and that before the answer',
      async (_verb, act) => {
        const trace = await traceOf(act);
        const order = trace.filter((name) => /^images\.load\.(rename|sync|commit)$/.test(name));
        expect(order).toEqual(['images.load.rename', 'images.load.sync', 'images.load.commit']);
        await forget('made:1');
        engine.daemon.arm('images.load.commit=sigkill');
        // The answer of a daemon that dies is no answer.
        await act().catch(() => undefined);
        await engine.daemon.ended();
        engine.daemon.arm('');
        await engine.daemon.up();
        await engine.removeAll();
        await converged();
        await act();
        expect(await engine.http.ok('GET', '/images/made:1/json')).toMatchObject({ RepoTags: ['made:1'] });
        await engine.removeAll();
        await forget('made:1');
        await engine.http.ok('POST', '/images/prune');
      },
    );

    suite('R8: a removal is on the disk before its files go', async () => {
      await engine.http.ok(
        'POST',
        '/images/load?quiet=1',
        busyboxImageTar({ tags: ['made:1'], extraLayers: [LAYER] }),
      );
      const trace = await traceOf(() => engine.http.ok('DELETE', '/images/made:1'));
      const order = trace.filter((name) =>
        /^(images\.remove\.\w+|database\.transaction\.committed)$/.test(name),
      );
      expect(order).toEqual([
        'images.remove.commit',
        'database.transaction.committed',
        'images.remove.directory',
      ]);
    });

    suite('R10: a record that cannot be read costs that record: the daemon starts, files stay', async () => {
      await engine.http.ok(
        'POST',
        '/images/load?quiet=1',
        busyboxImageTar({ tags: ['torn:1'], extraLayers: [LAYER] }),
      );
      const torn = await engine.run(['sh', '-c', 'echo of days >/work']);
      const fine = await engine.create(['true']);
      await engine.http.ok('POST', '/networks/create', { Name: 'torn' });
      await engine.daemon.stop();
      const { dataRoot } = engine.daemon.paths;
      const change = (...statements: string[]): void => {
        const database = new Database(path.join(dataRoot, 'berth.db'));
        statements.forEach((statement) => database.prepare(statement).run());
        database.close();
      };
      change(
        `UPDATE containers SET spec = '{' WHERE id = '${torn.id}'`,
        "UPDATE networks SET spec = '{' WHERE name = 'torn'",
        "UPDATE images SET config = X'00' WHERE id = (SELECT image_id FROM tags WHERE repository LIKE '%torn')",
      );
      await engine.daemon.up();
      expect((await engine.list()).map(({ Id }) => Id)).toEqual([fine]);
      expect((await engine.http.request('GET', '/images/torn:1/json')).status).toBe(404);
      expect((await engine.http.request('GET', '/networks/torn')).status).toBe(404);
      // Its row is kept for a person; so is what it wrote, also by later daemons.
      await engine.daemon.restart();
      const work = path.join(dataRoot, 'containers', torn.id, 'upper/work');
      expect(readFileSync(work, 'utf8')).toBe('of days\n');
      expect(await engine.run(['true'])).toMatchObject({ exitCode: 0 });
      // The image comes back with the next load, the others when somebody repairs their rows.
      await engine.http.ok(
        'POST',
        '/images/load?quiet=1',
        busyboxImageTar({ tags: ['torn:1'], extraLayers: [LAYER] }),
      );
      expect(await engine.run(['cat', '/etc/note'], {}, { Image: 'torn:1' })).toMatchObject({
        stdout: 'of the layer',
      });
      await engine.removeAll();
      await forget('torn:1');
      await engine.daemon.stop();
      change('DELETE FROM quarantine');
      await engine.daemon.up();
      rmSync(path.join(dataRoot, 'quarantine'), { recursive: true });
      await converged();
    });

    suite('R10: files of a container whose record is gone are kept, left-overs are not', async () => {
      const { dataRoot } = engine.daemon.paths;
      const [lost, forced] = [
        await engine.run(['sh', '-c', 'echo of days >/work']),
        await engine.create(['true']),
      ];
      engine.daemon.arm('containers.remove.files=errno(EIO)');
      await engine.http.ok('DELETE', `/containers/${forced}?force=1`);
      engine.daemon.arm('');
      await engine.daemon.stop();
      // Of a creation that was interrupted.
      mkdirSync(path.join(dataRoot, 'containers', 'a'.repeat(64), 'upper'), { recursive: true });
      const database = new Database(path.join(dataRoot, 'berth.db'));
      database.prepare('DELETE FROM containers WHERE id = ?').run(lost.id);
      database.close();
      engine.daemon.arm('containers.sweep.directory=sigkill');
      await expect(engine.daemon.up()).rejects.toThrow();
      engine.daemon.arm('');
      await engine.daemon.up();
      await expect.poll(() => readdirSync(path.join(dataRoot, 'containers'))).toEqual([]);
      const quarantine = path.join(dataRoot, 'quarantine');
      expect(readdirSync(path.join(quarantine, 'containers'))).toEqual([lost.id]);
      expect(readFileSync(path.join(quarantine, 'containers', lost.id, 'upper/work'), 'utf8')).toBe(
        'of days\n',
      );
      await expect
        .poll(() => engine.daemon.log())
        .toMatch(new RegExp(`${lost.id}.*files of a container without a record were moved out of the way`));
      rmSync(quarantine, { recursive: true });
      await converged();
    });

    suite(
      'commit: of a container whose image is removed meanwhile makes all of an image or nothing',
      async () => {
        await engine.http.ok(
          'POST',
          '/images/load?quiet=1',
          busyboxImageTar({ tags: ['made:1'], extraLayers: [LAYER] }),
        );
        const { id } = await engine.run(['sh', '-c', 'echo mine >/own'], {}, { Image: 'made:1' });
        const trace = engine.daemon.paths.failpointTrace;
        const before = readFileSync(trace, 'utf8').length;
        engine.daemon.arm('archives.layer.begin=delay(1000)');
        const committed = engine.http.request('POST', `/commit?container=${id}&repo=committed&tag=1`);
        await until('the commit', () =>
          readFileSync(trace, 'utf8').slice(before).includes('archives.layer.begin'),
        );
        await engine.http.ok('DELETE', '/images/made:1?force=1');
        const { status, text } = await committed;
        engine.daemon.arm('');
        // As with dockerd there is nothing then that it could be a child of; on a slow machine it was first.
        const isMade = status === 201;
        expect([isMade ? 404 : status, text]).toEqual([404, expect.stringMatching(/No such image|"Id"/)]);
        const made = await engine.http.request('GET', '/images/committed:1/json');
        expect(made.status).toBe(isMade ? 200 : 404);
        await engine.removeAll();
        await forget('committed:1');
        await converged();
      },
    );

    suite(
      'R28: a disk that cannot be read: save names layer and file, and nothing else suffers',
      async () => {
        await engine.http.ok(
          'POST',
          '/images/load?quiet=1',
          busyboxImageTar({ tags: ['made:1'], extraLayers: [LAYER] }),
        );
        engine.daemon.arm('layers.read.content=errno(EIO)');
        await expect(engine.http.request('GET', '/images/made:1/get')).rejects.toThrow();
        await expect
          .poll(() => engine.daemon.log())
          .toMatch(/layer sha256:[0-9a-f]{64}: file \\?"[^"]+" cannot be read: EIO/);
        expect(await engine.run(['cat', '/etc/note'], {}, { Image: 'made:1' })).toMatchObject({
          exitCode: 0,
        });
        engine.daemon.arm('');
        expect((await engine.http.request('GET', '/images/made:1/get')).status).toBe(200);
        await engine.removeAll();
        await forget('made:1');
        await converged();
      },
    );

    suite.each(['containers', 'images', 'networks', 'volumes', 'build'])(
      'R28: %s/prune: what was done is answered, also when the event of it cannot be stored',
      async (what) => {
        engine.daemon.arm('database.event.insert=errno(ENOSPC)');
        const answer = await engine.http.request('POST', `/${what}/prune`);
        engine.daemon.arm('');
        expect([answer.status, answer.json]).toEqual([200, expect.any(Object)]);
      },
    );

    suite(
      'R28: a disk that cannot remove: rm fails cleanly and can be done again, rm -f removes the record',
      async () => {
        const { id } = await engine.run(['true']);
        engine.daemon.arm('containers.remove.files=errno(EIO)');
        const refused = await engine.http.request('DELETE', `/containers/${id}`);
        expect([refused.status, refused.text]).toEqual([
          500,
          expect.stringMatching(/^\{"message":"container [0-9a-f]{64}: failed to remove its files: EIO/),
        ]);
        expect((await engine.inspect(id)).State.Status).toBe('dead');
        expect((await engine.http.request('DELETE', `/containers/${id}`)).status).toBe(500);
        await engine.http.ok('DELETE', `/containers/${id}?force=1`);
        expect(await engine.list()).toEqual([]);
        engine.daemon.arm('');
        await engine.daemon.restart();
        await converged();
        const again = await engine.run(['true']);
        engine.daemon.arm('containers.remove.files=errno(EIO)');
        expect((await engine.http.request('DELETE', `/containers/${again.id}`)).status).toBe(500);
        engine.daemon.arm('');
        await engine.http.ok('DELETE', `/containers/${again.id}`);
        await converged();
      },
    );

    suite(
      'R28: a disk that cannot remove a layer: rmi is done all the same, the next start deletes the files',
      async () => {
        await engine.http.ok(
          'POST',
          '/images/load?quiet=1',
          busyboxImageTar({ tags: ['made:1'], extraLayers: [LAYER] }),
        );
        engine.daemon.arm('images.remove.directory=errno(EIO)');
        await engine.http.ok('DELETE', '/images/made:1');
        engine.daemon.arm('');
        expect((await engine.http.request('GET', '/images/made:1/json')).status).toBe(404);
        await engine.daemon.restart();
        await converged();
      },
    );
  },
  { armable: true },
);
