import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kill, processes } from '../support/engine/cleanup.ts';
import { until } from '../support/engine/http.ts';
import { differences } from '../support/engine/oracle.ts';
import { needsEngine } from '../support/needs.ts';
import { Clients } from './clients.ts';
import { countsOf, HEAD, reasonsOf, row, type Counts, type Happening } from './counts.ts';
import { debianParts } from './debian.ts';
import { Stage, STACK } from './stage.ts';

/** How long a thing is watched after it is over: updates and heartbeats have their after-effects. */
const AFTER_MS = 5000;
/** Longer than three heartbeats: the leader takes a node for lost. */
const LOST_MS = 30_000;
/** Packages of Debian are fetched where they were not yet, and five images are built of them. */
const PREPARED_MS = 900_000;
const FOLDER = process.env['BERTH_VOTING_KEEP'];
const NONE = { page: 0, vote: 0, result: 0 };

function service(name: string): string {
  return `${STACK}_${name}`;
}

function failed({ page, vote, result }: Counts): Record<string, number> {
  return { page: page.wrong.length, vote: vote.wrong.length, result: result.wrong.length };
}

/**
 * The voting application in a swarm of five, with clients that ask each node the whole time. The tests build on each
 * other; the last one looks whether each vote that was acknowledged is in the database.
 */
needsEngine(
  'docker-cli',
  'etcd',
  'debootstrap',
)('the voting application over five nodes', () => {
  let stage: Stage;
  let clients: Clients;
  const owned: AsyncDisposable[] = [];
  const happenings: Happening[] = [];

  beforeAll(async () => {
    debianParts();
    stage = await Stage.start();
  }, PREPARED_MS);
  afterAll(async () => {
    try {
      report();
    } finally {
      for (const each of [...owned, stage]) {
        await each[Symbol.asyncDispose]();
      }
    }
  });
  const report = (): void => {
    if (happenings.length === 0) {
      return;
    }
    const rows = happenings.map((one) => row(one, countsOf(one, clients.asked)));
    console.log([HEAD, ...rows].join('\n'));
    if (FOLDER !== undefined) {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(`${FOLDER}/happenings.json`, JSON.stringify(happenings));
      writeFileSync(`${FOLDER}/asked.jsonl`, clients.asked.map((one) => JSON.stringify(one)).join('\n'));
      for (const { daemon, hostname } of stage.swarm.nodes) {
        copyFileSync(daemon.paths.log, `${FOLDER}/${hostname}.log`);
      }
    }
  };

  /** Does it, waits until all is well again, and counts the requests that began in that time. */
  const happen = async (
    title: string,
    act: (gone: (node: number, from: number, to: number) => void) => Promise<unknown>,
  ): Promise<Counts> => {
    const happening: Happening = { title, from: Date.now(), to: Infinity };
    happenings.push(happening);
    await act((node, from, to) => {
      happening.gone = { node, from, to };
    });
    await stage.complete();
    await sleep(AFTER_MS);
    stage.allRun();
    happening.to = Date.now();
    await until('requests to be over', () => clients.overBefore > happening.to);
    const counts = countsOf(happening, clients.asked);
    console.log([row(happening, counts), ...reasonsOf(counts)].join('\n'));
    return counts;
  };

  const scale = (count: number): Promise<string> =>
    stage.manage('service', 'scale', '--detach=false', `${service('vote')}=${count}`);

  test(
    'docker build and docker stack deploy: five services answer at every node',
    async () => {
      await stage.build();
      await stage.deploy();
      clients = new Clients(
        stage.outside,
        stage.swarm.nodes.map(({ addr }) => addr),
      );
      owned.push(clients);
      await until('votes through each node', () => {
        const good = clients.asked.filter(({ kind, wrong }) => kind === 'vote' && wrong === null);
        return new Set(good.map(({ node }) => node)).size === 5;
      });
    },
    PREPARED_MS,
  );

  test('nothing happens', async () => {
    expect(failed(await happen('nothing', () => sleep(10_000)))).toEqual(NONE);
  });

  test('a rolling update of the front, and its rollback', async () => {
    const update = ['service', 'update', '--detach=false', '--env-add', 'RELEASE=2', service('vote')];
    expect(failed(await happen('rolling update of vote', () => stage.manage(...update)))).toEqual(NONE);
    const back = ['service', 'rollback', '--detach=false', service('vote')];
    expect(failed(await happen('rollback of vote', () => stage.manage(...back)))).toEqual(NONE);
  });

  test('scaled up and down', async () => {
    expect(failed(await happen('vote scaled from 3 to 6', () => scale(6)))).toEqual(NONE);
    expect(failed(await happen('vote scaled from 6 to 2', () => scale(2)))).toEqual(NONE);
    expect(failed(await happen('vote scaled from 2 to 5', () => scale(5)))).toEqual(NONE);
  });

  test('processes of tasks are killed: what is under way in them fails, and votes wait', async () => {
    // Nothing can answer for what ends with it: pages of the front, and results without a database.
    const spared = { worker: NONE, redis: NONE, db: { page: 0, vote: 0 }, vote: { result: 0 } };
    for (const [name, least] of Object.entries(spared)) {
      const counts = await happen(`a process of ${name} killed`, async () => {
        const [task] = await stage.tasksOf(name);
        const { node = 0, container = '' } = task ?? {};
        await stage.swarm.must(node, 'kill', '--signal', 'KILL', container);
        await until('the task to be gone', async () =>
          (await stage.tasksOf(name)).every((one) => one.container !== container),
        );
      });
      expect(failed(counts)).toMatchObject(least);
    }
  });

  test('redis is updated by force: votes wait', async () => {
    const update = ['service', 'update', '--detach=false', '--force', service('redis')];
    expect(failed(await happen('redis replaced by force', () => stage.manage(...update)))).toEqual(NONE);
  });

  test('the daemon of the leader is killed', async () => {
    const counts = await happen('kill -9 of the leader', async () => {
      const leader = await stage.leader();
      const { daemon } = stage.swarm.node(leader);
      await daemon.kill9();
      await stage.leader(leader);
      await sleep(AFTER_MS);
      await daemon.up();
    });
    expect(failed(counts)).toEqual(NONE);
  });

  test('the store of the leader is killed', async () => {
    const counts = await happen("kill -9 of the leader's etcd", async () => {
      const { paths } = stage.swarm.node(await stage.leader()).daemon;
      const named = `--data-dir=${paths.dataRoot}`;
      const etcd = processes().find(({ commandLine }) => commandLine.includes(named));
      kill(etcd?.pid ?? 0);
      await sleep(AFTER_MS);
    });
    expect(failed(counts)).toEqual(NONE);
  });

  test('the daemon of a worker is killed, and is away for so long that its tasks are replaced', async () => {
    const counts = await happen("kill -9 of a worker's daemon for 30 s", async () => {
      const { daemon } = stage.swarm.node(5);
      await daemon.kill9();
      await sleep(LOST_MS);
      await daemon.up();
    });
    expect(failed(counts)).toEqual(NONE);
  });

  test('the node of redis is drained', async () => {
    const counts = await happen('drain of the node that has redis', async () => {
      const [redis] = await stage.tasksOf('redis');
      const node = `n${redis?.node ?? 0}`;
      await stage.manage('node', 'update', '--availability', 'drain', node);
      await stage.complete();
      await sleep(AFTER_MS);
      await stage.manage('node', 'update', '--availability', 'active', node);
    });
    expect(failed(counts)).toEqual(NONE);
  });

  test('the leader is cut off from the other nodes for 10 s', async () => {
    await happen('the leader cut off from the nodes for 10 s', async () => {
      const leader = await stage.leader();
      const others = [1, 2, 3, 4, 5].filter((node) => node !== leader);
      stage.lan.part(others.map((other) => [leader, other]));
      await sleep(10_000);
      stage.lan.part([]);
    });
  });

  test('a worker is lost whole', async () => {
    await stage.manage('service', 'update', '--detach=false', '--force', service('vote'));
    await happen('a worker off the network for 30 s', async (gone) => {
      const from = Date.now();
      stage.lan.plug(5, 'out');
      await sleep(LOST_MS);
      stage.lan.plug(5, 'in');
      gone(5, from, Date.now());
    });
  });

  test('each vote that was acknowledged is in the database, and no node has anything left over', async () => {
    await clients.stop();
    const stored = new Set(await stage.ask('SELECT id FROM votes'));
    const votes = clients.asked.filter(({ kind }) => kind === 'vote');
    const acknowledged = votes.filter(({ wrong: reason }) => reason === null);
    const lost = acknowledged.filter(({ id }) => !stored.has(id ?? ''));
    console.log(`${votes.length} votes, ${acknowledged.length} acknowledged, ${stored.size} stored`);
    expect(lost).toEqual([]);
    await until('the nodes to be as they say', async () => {
      const lists = await Promise.all(stage.swarm.nodes.map(({ daemon }) => differences(daemon)));
      return lists.flat().length === 0;
    });
  });
});
