import { rmSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import type { ExecInspect } from '../../../api/types/exec.ts';
import { kill } from '../../support/engine/cleanup.ts';
import { Engine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { differences } from '../../support/engine/oracle.ts';
import { SmallDisk } from '../../support/storage/small-disk.ts';
import { VolumePlugin } from '../../support/storage/volume-plugin.ts';
import { untilNow } from '../../support/engine/until-now.ts';

const suite = onReference ? test.skip : test;
const MIB = 1024 * 1024;
const REFUSED = 'the disk takes no changes';
const ACCEPTED = 'the disk has taken all changes';

/** Writes until the disk is full, and takes each byte that becomes free. */
const FILLER = ['sh', '-c', 'while :; do cat /dev/zero >>/fill 2>/dev/null; usleep 20000; done'];
/** Ends at SIGTERM. */
const OBEDIENT = ['sh', '-c', 'trap "exit 7" TERM; trap "exit 9" USR1; while :; do sleep 0.05; done'];
/** Each probe is a change of state: pages that the write-ahead log has left are soon used. */
const PROBED = { Healthcheck: { Test: ['CMD', 'true'], Interval: 50e6 } };
/** Probes of 40 s at one a second. */
const PROBES = 40;

needsEngine()('a disk that takes nothing', () => {
  const engine = new Engine();
  let disk: SmallDisk;

  /** `isShort`: so small that the engine reserves no room for its database, and what is refused waits in memory. */
  const begin = async ({ isShort }: { isShort: boolean }): Promise<void> => {
    await engine.up({});
    // The root of a test daemon is made anew, on a disk of its own.
    await engine.daemon.stop();
    const { dataRoot } = engine.daemon.paths;
    rmSync(dataRoot, { recursive: true });
    disk = new SmallDisk(dataRoot, { mib: 160 });
    await engine.daemon.up();
    await engine.daemon.loadBusybox();
    if (isShort) {
      await engine.daemon.stop();
      disk.fill(24 * MIB);
      await engine.daemon.up();
    }
  };
  const end = async (): Promise<void> => {
    await engine.removeAll();
    disk.free();
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
  };
  afterEach(async () => {
    disk.unmount();
    await engine.down();
  });

  const untilLogged = (words: string): Promise<void> =>
    until(`the log to say: ${words}`, () => engine.daemon.log().includes(words));
  /** Room may have come and gone before: the last word counts. */
  const untilAccepted = (): Promise<void> =>
    until('the disk to have taken all changes', () => {
      const log = engine.daemon.log();
      return log.lastIndexOf(ACCEPTED) > log.lastIndexOf(REFUSED);
    });
  /** Names with states and exit codes. */
  const view = async (): Promise<string[]> => {
    const all = await Promise.all((await engine.list()).map(({ Id }) => engine.inspect(Id)));
    return all.map(({ Name, State }) => `${Name} ${State.Status} ${State.ExitCode}`).toSorted();
  };
  const startCrew = async (): Promise<void> => {
    for (const name of ['stopped', 'killed', 'removed', 'signalled', 'paused']) {
      await engine.start(OBEDIENT, {}, {}, name);
    }
    await engine.start(OBEDIENT, {}, PROBED, 'probed');
    await engine.http.ok('POST', '/containers/paused/pause');
    await engine.start(['false'], { RestartPolicy: { Name: 'always' } }, {}, 'restarting');
    await engine.create(OBEDIENT, {}, {}, 'created');
    await engine.run(['true']);
  };
  /** All that is done to be rid of containers; each must be answered as on any other day. */
  const getRid = async (): Promise<void> => {
    const { http } = engine;
    await http.ok('POST', '/containers/stopped/stop');
    await http.ok('POST', '/containers/killed/kill');
    await http.ok('POST', '/containers/signalled/kill?signal=USR1');
    await http.ok('POST', '/containers/paused/unpause');
    // Its policy may have given up: no container can be started now.
    expect([204, 304]).toContain((await http.request('POST', '/containers/restarting/stop?t=0')).status);
    await http.ok('DELETE', '/containers/removed?force=1');
    await engine.wait('signalled');
  };
  const LEFT = ['/created created 0', '/killed exited 137', '/signalled exited 9', '/stopped exited 7'];

  suite.each([
    ['with room reserved for the database', false],
    ['with none', true],
  ])(
    'R66: full disk, %s: containers can be stopped, killed, removed and pruned, the one that fills it too',
    { timeout: 240_000 },
    async (_how, isShort) => {
      await begin({ isShort });
      const probes = await engine.http.open('GET', '/events');
      let healthy = 0;
      probes.on('data', (chunk: Buffer) => (healthy += chunk.toString().split('"exec_die"').length - 1));
      await startCrew();
      await engine.start(FILLER, {}, {}, 'filler');
      await until('the disk to be full', () => disk.room < MIB / 4);
      const before = healthy;
      await until('probes to come and go', () => healthy >= before + PROBES);
      if (isShort) {
        await untilLogged(REFUSED);
      }
      await getRid();
      const { ContainersDeleted } = await engine.http.ok<{ ContainersDeleted: string[] }>(
        'POST',
        '/containers/prune',
      );
      expect(ContainersDeleted).toHaveLength(LEFT.length + 2);
      expect(await view()).toEqual(['/filler running 0', '/paused running 0', '/probed running 0']);
      await engine.remove('filler');
      await until('its space to be free', () => disk.room > 8 * MIB);
      if (isShort) {
        await untilAccepted();
      } else {
        expect(engine.daemon.log()).not.toContain(REFUSED);
      }
      const truth = await view();
      await engine.daemon.restart();
      expect(await view()).toEqual(truth);
      await end();
    },
  );

  suite(
    'R66: a daemon killed on a full disk: the next one finds removals that no row could tell of',
    async () => {
      await begin({ isShort: true });
      await startCrew();
      disk.fillUp();
      await untilLogged(REFUSED);
      disk.fillUp();
      await getRid();
      await engine.daemon.kill9();
      disk.free();
      await engine.daemon.up();
      expect(await view()).toEqual(expect.arrayContaining(LEFT));
      expect((await engine.http.request('GET', '/containers/removed/json')).status).toBe(404);
      await end();
    },
  );

  suite('R66: a data root that is read-only: stop, kill and rm -f answer, memory is the truth', async () => {
    await begin({ isShort: false });
    await startCrew();
    disk.breakDown();
    await untilLogged(REFUSED);
    await getRid();
    expect(await view()).toEqual(expect.arrayContaining([...LEFT, '/paused running 0', '/probed running 0']));
    expect((await engine.http.request('GET', '/containers/removed/json')).status).toBe(404);
    const refused = await engine.http.request('POST', '/containers/create', { body: { Image: 'busybox' } });
    expect([refused.status, refused.text]).toEqual([500, expect.stringMatching(/read-only|EROFS/)]);
    const pids = await Promise.all(
      ['paused', 'probed'].map(async (name) => (await engine.inspect(name)).State.Pid),
    );
    expect(await engine.daemon.stop()).toBe(0);
    pids.forEach(kill);
    await until('its users to be gone', () => disk.mend());
    await engine.daemon.up();
    // Nothing was stored and no file removed; how each ended stands in its monitor's record.
    expect(await view()).toEqual(
      expect.arrayContaining([...LEFT, '/paused exited 137', '/probed exited 137', '/removed exited 137']),
    );
    await end();
  });

  suite('R67: full disk: execs start and end, clients leave by keys, and events tell of it all', async () => {
    await begin({ isShort: true });
    const { http } = engine;
    const id = await engine.start(['sh'], {}, { Tty: true, OpenStdin: true, ...PROBED }, 'shell');
    await engine.start(FILLER, {}, {}, 'filler');
    await untilLogged(REFUSED);
    const since = Date.now() / 1000;

    const { Id: detached } = await http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      Cmd: ['sh', '-c', 'exit 3'],
    });
    await http.ok('POST', `/exec/${detached}/start`, { Detach: true });
    await until('its end', async () => {
      const { Running, ExitCode } = await http.ok<ExecInspect>('GET', `/exec/${detached}/json`);
      return !Running && ExitCode === 3;
    });
    expect(await engine.exec(id, ['sh', '-c', 'echo out; echo err >&2; exit 4'])).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      exitCode: 4,
    });

    const session = await http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      AttachStdin: true,
      AttachStdout: true,
      Tty: true,
      DetachKeys: 'ctrl-a,x',
      Cmd: ['sh'],
    });
    const shell = await http.hijack(`/exec/${session.Id}/start`, { body: { Tty: true } });
    shell.socket.write('echo h"i"\n');
    await shell.waitFor('hi');
    shell.socket.write('\u0001x');
    await shell.raw();
    expect(await http.ok('GET', `/exec/${session.Id}/json`)).toMatchObject({ Running: true });
    const attached = await http.hijack(
      `/containers/${id}/attach?stream=1&stdin=1&stdout=1&detachKeys=ctrl-a,x`,
    );
    attached.socket.write('echo he"llo"\n');
    await attached.waitFor('hello');
    attached.socket.write('\u0001x');
    await attached.raw();
    await http.ok('GET', `/containers/${id}/top`);
    await http.ok('POST', `/containers/${id}/resize?h=30&w=90`);

    const told = async (): Promise<string[]> => {
      const query = `since=${since}&until=${untilNow()}&filters=${encodeURIComponent('{"container":["shell"]}')}`;
      const { text } = await http.request('GET', `/events?${query}`);
      const actions = text
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { Action: string }).Action);
      return actions
        .filter((action) => !action.includes('true'))
        .filter((action) => !/^exec_die|health/.test(action));
    };
    const expected = [
      'exec_create: sh -c exit 3',
      'exec_start: sh -c exit 3',
      'exec_create: sh -c echo out; echo err >&2; exit 4',
      'exec_start: sh -c echo out; echo err >&2; exit 4',
      'exec_create: sh',
      'exec_start: sh',
      'exec_detach',
      'attach',
      'detach',
      'top',
      'resize',
    ];
    expect(await told()).toEqual(expected);
    await engine.remove('filler');
    await untilAccepted();
    await engine.daemon.restart();
    expect(await told()).toEqual(expected);
    await end();
  });

  suite('R67: full disk: attached clients read what the log cannot take, once and in order', async () => {
    await begin({ isShort: true });
    const { http } = engine;
    const id = await engine.start(['cat'], {}, { OpenStdin: true, ...PROBED }, 'echoes');
    const writer = await http.hijack(`/containers/${id}/attach?stream=1&stdin=1&stdout=1&stderr=1`);
    const written: string[] = [];
    const say = async (text: string): Promise<void> => {
      written.push(text);
      writer.socket.write(text);
      await writer.waitFor(text);
    };
    const logged = async (): Promise<string> =>
      (await http.request('GET', `/containers/${id}/logs?stdout=1`)).text;
    await say('before\n');
    disk.fillUp();
    await untilLogged(REFUSED);
    await until('the log to take nothing', async () => {
      disk.fillUp();
      const text = `line ${written.length} of ${'x'.repeat(2000)}\n`;
      await say(text);
      return !(await logged()).includes(text);
    });
    // Without input: this one comes to a disk that is full.
    const reader = await http.hijack(`/containers/${id}/attach?stream=1&stdout=1&stderr=1`);
    const before = written.length;
    for (let line = 0; line < 50; line += 1) {
      await say(`short ${line}\n`);
    }
    await reader.waitFor('short 49\n');
    disk.free();
    await untilAccepted();
    await say('after\n');
    await reader.waitFor('after\n');
    expect(await logged()).toContain('after\n');
    await http.ok('POST', `/containers/${id}/kill`);
    expect((await writer.output()).stdout).toBe(written.join(''));
    expect((await reader.output()).stdout).toBe(written.slice(before).join(''));
    await end();
  });

  suite('R67: full disk: a plugin that unmounts late is dropped in the background', async () => {
    await begin({ isShort: true });
    const { root } = engine.daemon.paths;
    await using plugin = await new VolumePlugin({
      socket: `${root}/plugins/late.sock`,
      folder: `${root}/of-the-plugin`,
    }).up();
    await engine.http.ok('POST', '/volumes/create', { Name: 'kept', Driver: 'late' });
    await engine.start(OBEDIENT, { Binds: ['kept:/kept'] }, {}, 'holder');
    await engine.start(OBEDIENT, {}, PROBED, 'probed');
    await engine.start(FILLER, {}, {}, 'filler');
    await untilLogged(REFUSED);
    let refusals = 0;
    plugin.misbehaviours.set('Unmount', (_body, honest) => {
      refusals += 1;
      if (refusals < 2) {
        throw new Error('the array is busy');
      }
      return honest();
    });
    await engine.http.ok('POST', '/containers/holder/stop');
    await until('the plugin to have unmounted', () => plugin.volumes.get('kept')?.ids.size === 0);
    expect(await view()).toEqual(['/filler running 0', '/holder exited 7', '/probed running 0']);
    await engine.remove('filler');
    await untilAccepted();
    await engine.daemon.restart();
    await engine.http.ok('POST', '/containers/holder/start');
    expect(plugin.refusals).toEqual(['Get: no such volume: kept', 'Unmount: the array is busy']);
    await end();
    await engine.http.ok('DELETE', '/volumes/kept');
  });
});
