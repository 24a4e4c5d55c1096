import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { isAlive } from '../../../daemon/base/kernel/processes/process.ts';
import { EtcdProcess, wipeMember } from '../../../swarm/store/etcd-process/etcd-process.ts';
import { TestNetns } from '../../support/engine/netns.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { needs } from '../../support/needs.ts';
import { TestMember } from '../../support/swarm/etcd-member.ts';

/** The pid of a member whose daemon was killed as soon as it had started it. */
async function leftBehind(member: TestMember): Promise<number> {
  const script = path.join(import.meta.dirname, 'start-member.ts');
  const { etcd, runDirectory } = member.deps;
  const argv = ['--import', 'tsx', script, etcd, runDirectory, JSON.stringify(member.settings)];
  const daemon = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = await once(daemon.stdout, 'data');
  daemon.kill('SIGKILL');
  await once(daemon, 'close');
  return Number(String(said));
}

needs(
  'root',
  'etcd',
  'ip',
  'netns',
)('a member of the store as a process', () => {
  const members: TestMember[] = [];
  let network: TestNetns;

  beforeAll(() => {
    network = new TestNetns(`bt${process.pid}p`);
  });

  afterAll(() => network[Symbol.dispose]());

  afterEach(async () => {
    for (const member of members.splice(0)) {
      await member[Symbol.asyncDispose]();
    }
  });

  function newMember(): TestMember {
    const member = new TestMember('one', { port: 2380, network });
    members.push(member);
    return member;
  }

  test('adoption: a member outlives the kill of its daemon, and the next one takes it over', async () => {
    const member = newMember();
    const pid = await leftBehind(member);
    await member.start();
    expect([member.process.adopted, member.process.process.pid]).toEqual([true, pid]);
    await member.ready();
    await member.process.stop();
    expect(isAlive(member.process.process)).toBe(false);
  });

  test('adoption: without its pid file a member is found by where it stands, and started anew', async () => {
    const member = newMember();
    const pid = await leftBehind(member);
    // An etcd that is ended before it has stored who its members are elects nobody when it is started again. Managers
    // that began in such a moment begin anew.
    await member.answers();
    rmSync(path.join(member.deps.runDirectory, 'etcd.pid'));
    expect((await EtcdProcess.adopt(member.deps))?.process.pid).toBe(pid);
    await member.start();
    expect(member.process.adopted).toBe(false);
    await member.ready();
  });

  test('adoption: a pid file of another boot, a torn one or a reused pid adopts nothing', async () => {
    const member = newMember();
    await member.start();
    await member.process.kill();
    const file = path.join(member.deps.runDirectory, 'etcd.pid');
    const noted = JSON.parse(readFileSync(file, 'utf8'));
    const self = { pid: process.pid, startTime: '1' };
    for (const text of [
      JSON.stringify({ ...noted, process: self }),
      JSON.stringify({ ...noted, bootId: 'other' }),
      '{"process":',
      '[]',
    ]) {
      writeFileSync(file, text);
      expect(await EtcdProcess.adopt(member.deps)).toBeUndefined();
    }
  });

  test('start: other settings end the member that runs, and begin it with them', async () => {
    const member = newMember();
    await member.start();
    await member.ready();
    const { pid } = member.process.process;
    await member.start();
    expect([member.process.adopted, member.process.process.pid]).toEqual([true, pid]);
    await member.start({ raft: { SnapshotInterval: 1000 } });
    expect(member.process.adopted).toBe(false);
    await member.ready();
  });

  test('start: socket and data are in directories of root alone, and a stop leaves no process', async () => {
    const member = newMember();
    await member.start();
    await member.ready();
    const modes = [member.deps.runDirectory, member.settings.dataDirectory].map((directory) =>
      (statSync(directory).mode & 0o777).toString(8),
    );
    expect(modes).toEqual(['700', '700']);
    await member.process.stop();
    await wipeMember(member.settings);
    expect(existsSync(member.settings.dataDirectory)).toBe(false);
    expect(await EtcdProcess.adopt(member.deps)).toBeUndefined();
  });

  test('start: a log that has grown is cut while it is written', async () => {
    const member = newMember();
    const clock = new ManualClock();
    const process = await EtcdProcess.start({ ...member.deps, clock }, member.settings);
    const log = path.join(member.deps.runDirectory, 'etcd.log');
    appendFileSync(log, Buffer.alloc(limits.swarmStoreLogBytesMax + 1, 'x'));
    await clock.advance(60_000);
    await expect.poll(() => statSync(log).size).toBeLessThan(limits.swarmStoreLogBytesMax);
    await expect.poll(() => clock.pendingMs.length).toBeGreaterThan(0);
    await process.kill();
  });

  test('start: a program that is not there, and a member that ends at once, say why', async () => {
    const absent = newMember();
    const missing = { ...absent.deps, etcd: '/usr/bin/no-such-etcd' };
    await expect(EtcdProcess.start(missing, absent.settings)).rejects.toMatchObject({
      code: 'failed_precondition',
    });
    const wrong = newMember();
    await wrong.start({ name: 'two' });
    await wrong.process.ended;
    expect(await wrong.process.lastWords()).toMatch(/initial cluster/);
  });
});
