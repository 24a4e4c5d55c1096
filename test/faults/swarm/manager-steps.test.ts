import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SystemInfo } from '../../../api/types/system.ts';
import { kill, processes } from '../../support/engine/cleanup.ts';
import type { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';
import { becomes, dieAt, leftovers, SETTLE_MS } from './steps.ts';

/** A daemon dies at each step of what makes a node a manager, and a manager none: the step is taken again. */
needsEngine('docker-cli', 'etcd')('managers whose daemons die at a step', () => {
  describe('two nodes', () => {
    let swarm: TestSwarm;
    beforeAll(async () => {
      swarm = await TestSwarm.start(2, { armable: true });
      await swarm.init();
      await swarm.join(2, 'worker');
    });
    afterAll(() => swarm[Symbol.asyncDispose]());

    const daemonOf = (number: number): TestDaemon => swarm.node(number).daemon;
    const wish = async (role: 'promote' | 'demote', number: number): Promise<unknown> => {
      const { Swarm } = await daemonOf(number).http.ok<SystemInfo>('GET', '/info');
      return await swarm.docker(3 - number, 'node', role, Swarm?.NodeID ?? '');
    };
    const bothAre = async (first: string, second: string): Promise<void> => {
      await becomes(daemonOf(1), `active ${first}`);
      await becomes(daemonOf(2), `active ${second}`);
    };

    test.each([
      [1, 'swarm.membership.role-raised'],
      [1, 'swarm.membership.learner-added'],
      [2, 'swarm.membership.admission-kept'],
      [1, 'swarm.membership.promoted'],
    ])('promote, n%i killed at %s: it becomes a manager by itself', async (number, point) => {
      await bothAre('manager', 'worker');
      await dieAt(daemonOf(number), point, () => wish('promote', 2));
      await bothAre('manager', 'manager');
      await wish('demote', 2);
      await bothAre('manager', 'worker');
      await nothingOfAManager(2);
    });

    const nothingOfAManager = (number: number): Promise<void> =>
      expect
        .poll(() => leftovers(daemonOf(number)).filter((left) => /etcd|peer/.test(left)), {
          timeout: SETTLE_MS,
        })
        .toEqual([]);

    const bothManage = async (): Promise<void> => {
      await wish('promote', 2);
      await bothAre('manager', 'manager');
    };

    test.each([
      [1, 'swarm.membership.member-removed'],
      [2, 'swarm.membership.store-stopped'],
    ])('demote, n%i killed at %s: it becomes a worker by itself', async (number, point) => {
      await bothManage();
      await dieAt(daemonOf(number), point, () => wish('demote', 2));
      await bothAre('manager', 'worker');
      await nothingOfAManager(2);
    });

    test('demote of the leader, killed at swarm.membership.store-handed-over', async () => {
      await bothManage();
      await dieAt(daemonOf(1), 'swarm.membership.store-handed-over', () => wish('demote', 1));
      await bothAre('worker', 'manager');
      await nothingOfAManager(1);
    });
  });

  test('a member that has lost its data, a manager killed at swarm.membership.old-member-removed', async () => {
    await using swarm = await TestSwarm.start(3, { armable: true });
    await swarm.init();
    await swarm.join(2, 'manager');
    await swarm.join(3, 'manager');
    const [one, two, three] = swarm.nodes.map(({ daemon }) => daemon) as [TestDaemon, TestDaemon, TestDaemon];
    await three.kill9();
    for (const { pid, commandLine } of processes()) {
      if (commandLine.includes('etcd') && commandLine.includes(`berth-test-${three.name}/`)) {
        kill(pid);
      }
    }
    rmSync(path.join(three.paths.dataRoot, 'swarm/etcd'), { recursive: true });
    const others = [one, two];
    others.forEach((daemon) => daemon.arm('swarm.membership.old-member-removed=sigkill'));
    await three.up();
    await until('one to die', () => others.some((daemon) => !daemon.isRunning()), SETTLE_MS);
    others.forEach((daemon) => daemon.arm(''));
    for (const daemon of others.filter((each) => !each.isRunning())) {
      await daemon.up();
    }
    for (const daemon of [one, two, three]) {
      await becomes(daemon, 'active manager');
    }
  });
});
