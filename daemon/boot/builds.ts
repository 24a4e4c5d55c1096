import { statfsSync } from 'node:fs';
import { storedForm } from '../../api/buildkit/services/stored.ts';
import type { BuildkitPort } from '../../api/types/build/ports.ts';
import type { BuildPort } from '../../api/types/ports.ts';
import type { BuildCacheItem } from '../../api/types/system.ts';
import { CdiDevices } from '../../runtime/cdi/cdi-devices.ts';
import { readHandlers, runnablePlatforms } from '../../runtime/host/platforms.ts';
import { liveHost, type HostSource } from '../../runtime/host/source.ts';
import { formatPlatform, hostPlatform, type Platform } from '../../storage/image/platform.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Rollback } from '../base/rollback.ts';
import { CacheMounts } from '../build/cache/cache-mounts.ts';
import { Checkouts } from '../build/cache/checkouts.ts';
import type { CollectRule, DiskNumbers } from '../build/cache/collect.ts';
import { policyRules, shownRules, type CollectPolicy } from '../build/cache/policy.ts';
import { pruningOf } from '../build/cache/filters.ts';
import { CacheKeeper } from '../build/cache/keeper.ts';
import { RecordCache } from '../build/cache/records.ts';
import { usageItems } from '../build/cache/usage-items.ts';
import { classicFiles } from '../build/classic/context.ts';
import { stepSolver } from '../build/classic/step-solver.ts';
import { Builds } from '../build/control/builds.ts';
import { BuildHistory } from '../build/history/history.ts';
import { BuildKeys } from '../build/ops/keys.ts';
import { TreeReader } from '../build/ops/tree-reader.ts';
import { BuildOps } from '../build/ops/ops.ts';
import { Contexts } from '../build/session/contexts.ts';
import { Sessions } from '../build/session/sessions.ts';
import { HeldTrees } from '../build/snapshots/held-trees.ts';
import { Solver } from '../build/solver/solver.ts';
import type { Containers } from '../containers/containers.ts';
import { readAccountFiles, resolveOwner, resolveUser } from '../containers/oci/user.ts';
import type { Images } from '../images/images.ts';
import { engineId } from '../system/engine-id.ts';
import type { BuilderSettings } from './config/builder-settings.ts';
import type { Base, Neighbours } from './parts.ts';
import { ENGINE_VERSION } from './version.ts';

type BuildParts = Pick<Neighbours, 'images' | 'archives' | 'mounts' | 'tarSpools'> & {
  containers: Containers;
  network: { hostGateway(): string | undefined };
};

/** What builds images: the classic builder, and the solver behind BuildKit's protocol. */
export async function composeBuilds(
  { deps: { config, instance, log }, database }: Base,
  domain: Rollback,
  parts: BuildParts,
): Promise<{ builds: BuildPort; buildkit: BuildkitPort; buildCache: () => BuildCacheItem[] }> {
  const { images, archives, tarSpools: spools } = parts;
  const { temporary, builds: directory, dataRoot } = instance.paths;
  const devices = new CdiDevices(config.cdiSpecDirs, log);
  const host = { ...parts, spools, resolveUser: userOf, resolveOwner: ownerOf, devices, temporary };
  const { builder } = config;
  const [clock, table] = [systemClock, database.buildRecords];
  const caches = new CacheMounts({ table, directory, archives, clock, log });
  await caches.sweep();
  const sessions = new Sessions({ clock, log });
  const layers = images.buildLayers(host);
  const [contexts, checkouts] = [new Contexts({ spools, layers, clock, log }), new Checkouts(clock)];
  const disk = (): DiskNumbers => diskOf(dataRoot);
  const rules = rulesOf(builder.gc, clock);
  const keeper = new CacheKeeper({ table, layers, caches, clock, log, disk, rules });
  const [held, remoteLayers] = [new HeldTrees(layers), images.cacheLayers()];
  const worker = { id: engineId(database), version: ENGINE_VERSION };
  const deps = { ...host, layers, sessions, contexts, caches, held, remoteLayers, log, workerId: worker.id };
  const records = new RecordCache({ table, layers, checkouts, clock });
  const solver = new Solver({
    keys: new BuildKeys(deps),
    cache: records,
    ops: new BuildOps(deps),
    runsMax: limits.buildRunsMax,
  });
  const history = openHistory(database, domain, { kept: builder.history, clock, log });
  domain.defer('wait for operations of builds', async () => {
    await solver.idle();
    await layers.idle();
  });
  domain.defer('end the collection of results of builds', () => keeper[Symbol.asyncDispose]());
  const trees = new TreeReader(deps);
  const platforms = platformsOf(liveHost());
  const buildkit = new Builds({
    classic: images.classicSteps(),
    sessions,
    contexts,
    checkouts,
    spools,
    held,
    solver,
    layers,
    keeper,
    records,
    caches: remoteLayers,
    trees,
    ops: deps,
    history,
    exports: { ...host, layers, caches: remoteLayers },
    clock,
    log,
    entitlements: builder.entitlements,
    worker: () => ({
      ...worker,
      platforms: platforms(),
      ...addressOf(parts.network),
      policy: shownRules(rules(disk()) ?? []),
    }),
  });
  const files = classicFiles({ ...host, trees });
  return {
    builds: withCache(images.builder({ ...host, files, solver: stepSolver(solver) }), keeper),
    buildkit,
    buildCache: () => usageItems(keeper.usage()),
  };
}

function rulesOf(policy: CollectPolicy, clock: Clock): (disk: DiskNumbers) => CollectRule[] | undefined {
  return (disk) => policyRules(policy, { disk, nowNano: clock.nowNano() });
}

/** Emulators come and go while the daemon runs; a processor is asked once, as that takes long where there are many. */
function platformsOf(host: HostSource): () => Platform[] {
  const processor = host.read('/proc/cpuinfo');
  const known = { read: () => processor, exists: (path: string) => host.exists(path) };
  const own = hostPlatform().architecture;
  return () => runnablePlatforms(known, { own, handlers: readHandlers() });
}

function addressOf(network: { hostGateway(): string | undefined }): { hostGateway?: string } {
  const hostGateway = network.hostGateway();
  return hostGateway === undefined ? {} : { hostGateway };
}

function userOf(root: number, text: string): ReturnType<typeof resolveUser> {
  return resolveUser(text, readAccountFiles(root));
}

function ownerOf(root: number, text: string): ReturnType<typeof resolveOwner> {
  return resolveOwner(text, readAccountFiles(root));
}

function openHistory(
  { buildHistory: table }: Base['database'],
  domain: Rollback,
  more: { kept: BuilderSettings['history']; clock: Clock; log: Logger },
): BuildHistory {
  const platform = formatPlatform(hostPlatform());
  const history = new BuildHistory({ table, codec: storedForm, platform, version: ENGINE_VERSION, ...more });
  domain.defer('write down builds that have ended', () => history[Symbol.asyncDispose]());
  return history;
}

/** A prune takes what both engines keep; steps of the classic builder only where nothing is said that they lack. */
function withCache(classic: ReturnType<Images['builder']>, keeper: CacheKeeper): BuildPort {
  const prune: BuildPort['prune'] = async (filters, bounds) => {
    const pruning = { ...bounds, ...pruningOf(filters, systemClock.nowNano()) };
    const { reservedBytes, usedBytesMax, freeBytesMin } = bounds;
    const isOfSteps =
      reservedBytes + usedBytesMax + freeBytesMin === 0 &&
      [...filters.keys()].every((name) => name === 'until' || name === 'id');
    const steps = isOfSteps ? await classic.prune(filters) : { CachesDeleted: null, SpaceReclaimed: 0 };
    const records = await keeper.prune(pruning);
    const CachesDeleted = [...(steps.CachesDeleted ?? []), ...records.map(({ id }) => id)];
    return {
      CachesDeleted: CachesDeleted.length === 0 ? null : CachesDeleted,
      SpaceReclaimed: steps.SpaceReclaimed + records.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  };
  return { build: (tar, request) => classic.build(tar, request), prune };
}

function diskOf(path: string): DiskNumbers {
  const { blocks, bavail, bsize } = statfsSync(path);
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
}
