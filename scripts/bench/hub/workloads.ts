import type { TestDaemon } from '../../../test/support/engine/daemon.ts';
import { sleep } from '../../../test/support/engine/http.ts';
import { peakRssKb, resetPeak } from '../memory.ts';
import type { Prepared, Workload } from '../workload.ts';
import { DELIVERIES_OF_TAG, HubBed } from './bed.ts';
import { pull, push, type BlobFile, type Side } from './curl.ts';
import { decisionUs } from './decisions.ts';

const MB = 1_000_000;
const LAYERS = 4;
/** 500 MB in all. */
const LAYER_BYTES = 125 * MB;
/** Of memory, before a push: what it writes, and room for buffers. */
const WARM_BYTES = 700 * MB;
/** A hundred pulls of 20 MB each. */
const SMALL_LAYER_BYTES = 5 * MB;
const PULLS = 100;
const TAGS = 50;
const DELIVERIES_A_SECOND = 1_000;
/** As many are made, so that a tag more or less within a push does not count. */
const DELIVERIES_MADE_A_SECOND = 1_050;
/** What somebody could not tell from flat: a buffer or two. */
const MEMORY_KB_MAX = 20_000;

let bed: HubBed | undefined;
/** What the workload that runs pulls. */
let image: readonly BlobFile[] = [];
let pushes = 0;
/** Beside pushes, since the bed was opened: deliveries that came while one ran, and for how long they ran. */
let beside = { deliveries: 0, ms: 0 };

/** The hub beside Debian's docker-registry, which has dockerd's place, and what the hub does beside that. */
export const hubWorkloads: readonly Workload[] = [
  {
    name: 'hub-push',
    what: 'push of 500 MB in four layers to the hub, beside docker-registry',
    unit: 'ms',
    target: 0.8,
    engine: 'berthd',
    rounds: 3,
    prepare: open,
    run: () => timedPush(theBed().hub),
    reference: () => timedPush(theBed().registry),
  },
  {
    name: 'hub-pull',
    what: 'pull of 500 MB in four layers from the hub, beside docker-registry',
    unit: 'ms',
    target: 0.8,
    engine: 'berthd',
    rounds: 3,
    prepare: (daemon) => openFilled(daemon, LAYER_BYTES),
    run: () => timedPull(theBed().hub, { times: 1, atOnce: LAYERS }),
    reference: () => timedPull(theBed().registry, { times: 1, atOnce: LAYERS }),
  },
  {
    name: 'hub-pulls',
    what: `${PULLS} pulls of one image of 20 MB at the same time, beside docker-registry`,
    unit: 'ms',
    target: 0.7,
    engine: 'berthd',
    rounds: 3,
    prepare: (daemon) => openFilled(daemon, SMALL_LAYER_BYTES),
    run: () => timedPull(theBed().hub, { times: PULLS, atOnce: PULLS }),
    reference: () => timedPull(theBed().registry, { times: PULLS, atOnce: PULLS }),
  },
  {
    name: 'hub-deliveries',
    what: `webhooks: ${TAGS * DELIVERIES_OF_TAG} deliveries to a receiver on this machine, each`,
    unit: 'us',
    target: null,
    max: 1_000_000 / DELIVERIES_A_SECOND,
    engine: 'berthd',
    rounds: 3,
    prepare: open,
    run: deliveryUs,
  },
  {
    name: 'hub-push-beside',
    what: `push of 500 MB to the hub beside ${DELIVERIES_A_SECOND} deliveries a second, beside one without`,
    unit: 'ms',
    target: 1.1,
    engine: 'berthd',
    rounds: 3,
    prepare: open,
    run: pushBesideDeliveries,
    shortfall: tooFewDeliveries,
    reference: () => timedPush(theBed().hub),
  },
  {
    name: 'hub-limits',
    what: 'a decision about the limits of a request',
    unit: 'us',
    target: null,
    max: 50,
    engine: 'berthd',
    rounds: 3,
    run: () => Promise.resolve(decisionUs()),
  },
  {
    name: 'hub-memory',
    what: 'memory that a blob of 1 GB takes more than one of 50 MB, pushed and pulled',
    unit: 'kB',
    target: null,
    max: MEMORY_KB_MAX,
    engine: 'berthd',
    // The first blobs, of any size, grow what Node.js keeps for the next ones.
    rounds: 3,
    prepare: open,
    run: async (daemon) => {
      await peakKb(daemon, 50 * MB);
      const small = await peakKb(daemon, 50 * MB);
      return Math.max(0, (await peakKb(daemon, 1_000 * MB)) - small);
    },
  },
];

function theBed(): HubBed {
  if (bed === undefined) {
    throw new Error('a hub is measured that is not there');
  }
  return bed;
}

async function open(daemon: TestDaemon): Promise<Prepared> {
  const opened = await HubBed.open(daemon);
  bed = opened;
  beside = { deliveries: 0, ms: 0 };
  const end = async (): Promise<void> => {
    bed = undefined;
    await opened[Symbol.asyncDispose]();
  };
  return { ids: [], end };
}

async function openFilled(daemon: TestDaemon, layerBytes: number): Promise<Prepared> {
  const prepared = await open(daemon);
  image = theBed().blobs.image(LAYERS, layerBytes);
  for (const side of [theBed().hub, theBed().registry]) {
    await push(side, pulledName(), image);
  }
  return prepared;
}

/** Of an image that the registry has nothing of. `around`: does something before the push and after it. */
async function timedPush(
  side: Side,
  around: (push: () => Promise<void>) => Promise<void> = (task) => task(),
): Promise<number> {
  const { blobs } = theBed();
  pushes += 1;
  const name = `${theBed().owner}/pushed${pushes}`;
  const pushed = blobs.image(LAYERS, LAYER_BYTES);
  blobs.warm(WARM_BYTES);
  let ms = 0;
  await around(async () => {
    ms = await timed(() => push(side, name, pushed));
  });
  blobs.forget(pushed);
  if (side === theBed().hub) {
    await theBed().forget(name);
  }
  return ms;
}

function timedPull(side: Side, how: { times: number; atOnce: number }): Promise<number> {
  return timed(() => pull(side, pulledName(), image, how));
}

/** From the first tag that is put to the last delivery that came. */
async function deliveryUs(): Promise<number> {
  pushes += 1;
  const name = `${theBed().owner}/told${pushes}`;
  const order = await theBed().listen(name);
  const { received } = await theBed().report();
  const wanted = TAGS * DELIVERIES_OF_TAG;
  const ms = await timed(async () => {
    theBed().put({ ...order, tags: TAGS, everyMs: 0 });
    await theBed().received(received + wanted);
  });
  await theBed().forget(name);
  return (ms * 1_000) / wanted;
}

async function pushBesideDeliveries(): Promise<number> {
  pushes += 1;
  const name = `${theBed().owner}/told${pushes}`;
  const order = await theBed().listen(name);
  const everyMs = (1_000 * DELIVERIES_OF_TAG) / DELIVERIES_MADE_A_SECOND;
  theBed().put({ ...order, tags: Number.MAX_SAFE_INTEGER, everyMs });
  // Until it runs as it will.
  await sleep(2_000);
  const ms = await timedPush(theBed().hub, async (task) => {
    const { received } = await theBed().report();
    beside.ms += await timed(task);
    beside.deliveries += (await theBed().report()).received - received;
  });
  await theBed().stop();
  await theBed().forget(name);
  return ms;
}

/** A push is not slowed by deliveries that did not come. */
function tooFewDeliveries(): string | undefined {
  const perSecond = (beside.deliveries * 1_000) / beside.ms;
  return perSecond < DELIVERIES_A_SECOND
    ? `only ${perSecond.toFixed(0)} deliveries a second came while the pushes ran`
    : undefined;
}

function pulledName(): string {
  return `${theBed().owner}/pulled`;
}

/** The largest that the daemon got while a blob of this size came and went. */
async function peakKb({ pid }: TestDaemon, bytes: number): Promise<number> {
  const { hub, blobs } = theBed();
  pushes += 1;
  const name = `${theBed().owner}/large${pushes}`;
  const pushed = blobs.image(1, bytes);
  resetPeak(pid);
  await push(hub, name, pushed);
  await pull(hub, name, pushed, { times: 1, atOnce: 1 });
  const peak = peakRssKb(pid);
  blobs.forget(pushed);
  await theBed().forget(name);
  return peak;
}

async function timed(task: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await task();
  return performance.now() - started;
}
