import { afterAll, beforeAll, expect, test } from 'vitest';
import { needs } from '../support/needs.ts';
import { TASKS } from './swarm/host-swarm.ts';
import { LOADS, MeshSide } from './swarm/mesh-side.ts';

const ROUNDS = 15;
const CALLS = 1000;
/** Not counted: two daemons that have just started are still being compiled, and calls take five times as long. */
const WARMING_ROUNDS = 5;
/** Of what dockerd's mesh takes in the same time. */
const MORE = 1.2;

/** dockerd of today balances by IPVS, which small kernels lack: both meshes on one kernel, in turns. */
needs(
  'guest',
  'etcd',
  'dockerd',
)('the routing mesh beside that of dockerd', () => {
  const sides: { berth?: MeshSide; dockerd?: MeshSide } = {};

  beforeAll(async () => {
    sides.dockerd = await MeshSide.start('dockerd', 91);
    sides.berth = await MeshSide.start('berthd', 92);
  });
  afterAll(async () => {
    await sides.berth?.[Symbol.asyncDispose]();
    await sides.dockerd?.[Symbol.asyncDispose]();
  });

  const both = (): { berth: MeshSide; dockerd: MeshSide } => {
    const { berth, dockerd } = sides;
    if (berth === undefined || dockerd === undefined) {
      throw new Error('one of them does not run');
    }
    return { berth, dockerd };
  };

  test('dockerd’s is one of today, by IPVS, with a destination for each task', async () => {
    const { daemon } = both().dockerd;
    const { Version } = await daemon.http.ok<{ Version: string }>('GET', '/version');
    expect(Version).toMatch(/^26\./);
    const sandbox = `${daemon.paths.execRoot}/netns/ingress_sbox`;
    const table = await daemon.netns.run('nsenter', `--net=${sandbox}`, 'cat', '/proc/net/ip_vs');
    expect(table.match(/^ {2}-> [0-9A-F]{8}:/gm)).toHaveLength(TASKS);
  });

  test.each(Object.keys(LOADS) as (keyof typeof LOADS)[])(`%s: ${MORE} times as many`, async (load) => {
    const { berth, dockerd } = both();
    const ratios: number[] = [];
    for (let round = -WARMING_ROUNDS; round < ROUNDS; round += 1) {
      const [own, reference] = [await berth.took(load, CALLS), await dockerd.took(load, CALLS)];
      if (round >= 0) {
        ratios.push(reference / own);
      }
      console.log(`${load}: ${CALLS} take ${own.toFixed(0)} ms, dockerd's ${reference.toFixed(0)} ms`);
    }
    ratios.sort((one, other) => one - other);
    const median = ratios[Math.floor(ROUNDS / 2)] ?? 0;
    console.log(`${load}: ${median.toFixed(2)} times as many as dockerd`);
    expect(median).toBeGreaterThanOrEqual(MORE);
  });
});
