import { afterAll, beforeAll, expect, test } from 'vitest';
import { needs } from '../support/needs.ts';
import { TASKS } from './swarm/host-swarm.ts';
import { inTurns, LOADS, MeshSide } from './swarm/mesh-side.ts';

/** Many short ones: an emulated machine stands still for seconds now and then. */
const ROUNDS = 200;
const CALLS = 50;
/** Not counted: two daemons that have just started are still being compiled, and calls take five times as long. */
const WARMING_ROUNDS = 80;
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
    const rounds = await inTurns(load, [berth.address, dockerd.address], {
      rounds: WARMING_ROUNDS + ROUNDS,
      calls: CALLS,
    });
    const counted = rounds.slice(WARMING_ROUNDS);
    const [own, reference] = [0, 1].map((side) => middle(counted.map((round) => round[side] ?? 0)));
    const median = middle(counted.map(([mine = 0, other = 0]) => other / mine));
    console.log(
      `${load}: ${CALLS} take ${own?.toFixed(1)} ms, dockerd's ${reference?.toFixed(1)} ms (medians); ` +
        `in a round ${median.toFixed(2)} times as many as dockerd`,
    );
    expect(median).toBeGreaterThanOrEqual(MORE);
  });
});

function middle(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
