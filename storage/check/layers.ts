import { existsSync, renameSync, rmSync } from 'node:fs';
import { errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { exchange } from '../../daemon/base/kernel/files/files.ts';
import type { LayerRow } from '../database/rows.ts';
import type { RecordedContainer, RecordedImage } from '../database/store-records.ts';
import { rebuildLayer, verifyLayer, type LayerLocation, type LayerVerdict } from '../layers/verify.ts';
import { namesIn } from '../orphans.ts';
import { remains, whole, type Finding, type Repaired } from './finding.ts';
import { imageName, type Store } from './store.ts';

/** Sentences shown about one layer. */
const PROBLEMS_SHOWN = 10;

interface Known {
  layers: ReadonlyMap<number, LayerRow>;
  images: readonly RecordedImage[];
  containers: readonly RecordedContainer[];
  /** Of the hub. */
  hub: readonly number[];
  /** Topmost ones of what builds keep. */
  builds: readonly number[];
}

/** Layers that nothing needs; then each of the others, read back against its diff ID. `tell`: how much is done. */
export async function checkLayers(store: Store, tell: (share: number) => void): Promise<Finding[]> {
  const { records } = store;
  const known: Known = {
    layers: new Map(records.layers().map((layer) => [layer.id, layer])),
    images: records.images(),
    containers: records.containers(),
    hub: records.hubLayerIds(),
    builds: records.buildLayerIds(),
  };
  const needed = neededLayers(known);
  const findings: Finding[] = [];
  const total = [...known.layers.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) || 1;
  let done = 0;
  for (const layer of known.layers.values()) {
    tell(done / total);
    done += layer.sizeBytes;
    const found = needed.has(layer.id) ? await checkLayer(store, known, layer) : unneeded(store, layer);
    findings.push(...found);
  }
  return findings;
}

/** Layers of images, of containers, of the hub and of builds, and what they lie on. */
function neededLayers({ layers, images, containers, hub, builds }: Known): ReadonlySet<number> {
  const needed = new Set<number>();
  for (const { layerIds } of [...images, ...containers, { layerIds: hub }, { layerIds: builds }]) {
    for (const id of layerIds) {
      for (let next: number | null = id; next !== null && !needed.has(next);) {
        needed.add(next);
        next = layers.get(next)?.parentId ?? null;
      }
    }
  }
  return needed;
}

/** Beside a daemon it may be held by what is under way. */
function unneeded(store: Store, { id, diffId }: LayerRow): Finding[] {
  if (store.isInUse) {
    return [];
  }
  return [
    {
      kind: 'left-over',
      subject: `layer ${diffId}`,
      problem: 'is needed by no image, no container, no build and no hub',
      remedy: 'it is removed',
      repair: () => {
        store.records.removeLayer(id);
        rmSync(store.layerDirectory(id), { recursive: true, force: true });
        return whole('it was removed');
      },
    },
  ];
}

async function checkLayer(store: Store, known: Known, layer: LayerRow): Promise<Finding[]> {
  const images = known.images.filter(({ layerIds }) => layerIds.includes(layer.id));
  const owner = images[0] === undefined ? ownerOf(known, layer) : imageName(images[0]);
  const subject = `layer ${layer.diffId} of ${owner}`;
  const again = `pull or load ${owner} again`;
  const place: LayerLocation = {
    directory: store.layerDirectory(layer.id),
    diffId: layer.diffId,
    lowers: lowersOf(store, known, layer),
  };
  if (!existsSync(place.directory)) {
    const remedy = `${again}${sourcesOf(images)}`;
    return [{ kind: 'layer', subject, problem: 'has no directory', remedy }];
  }
  const verdict = await verify(store, place);
  const wrongSize = verdict.problems.length === 0 && verdict.contentBytes !== layer.sizeBytes;
  if (wrongSize) {
    return [sizeFinding(store, layer, { subject, sizeBytes: verdict.contentBytes })];
  }
  if (verdict.problems.length === 0) {
    return [];
  }
  const user = known.containers.find(
    ({ id, layerIds }) => layerIds.includes(layer.id) && store.mounted.has(id),
  );
  return [
    {
      kind: 'layer',
      subject,
      problem: shown(verdict.problems),
      remedy: verdict.isRebuildable
        ? 'its files are made anew from its recipe'
        : `${again}${sourcesOf(images)}`,
      repair: () =>
        user === undefined
          ? repairLayer(store, place, { verdict, images, again, layer })
          : remains(`container ${user.name} runs on it: stop it and repair again`),
    },
  ];
}

/** A layer that disappears meanwhile, or a disk that does not answer, is a problem of that layer alone. */
async function verify(store: Store, place: LayerLocation): Promise<LayerVerdict> {
  try {
    return await verifyLayer(place, store.temporary());
  } catch (error) {
    const problems = [`it could not be read: ${errorText(error)}`];
    return { diffId: null, contentBytes: 0, problems, isRebuildable: false };
  }
}

function sizeFinding(
  { records }: Store,
  layer: LayerRow,
  { subject, sizeBytes }: { subject: string; sizeBytes: number },
): Finding {
  return {
    kind: 'layer',
    subject,
    problem: `is recorded with ${layer.sizeBytes} bytes and has ${sizeBytes}`,
    remedy: 'its size is recorded anew',
    repair: () => {
      records.putLayer({ ...layer, sizeBytes });
      return whole('its size was recorded anew');
    },
  };
}

async function repairLayer(
  store: Store,
  place: LayerLocation,
  about: { verdict: LayerVerdict; images: readonly RecordedImage[]; again: string; layer: LayerRow },
): Promise<Repaired> {
  const { verdict, images, again, layer } = about;
  if (verdict.isRebuildable) {
    const fresh = store.temporary();
    try {
      await rebuildLayer(place, fresh);
      await store.sync();
      failpoint('check.repair.rebuilt');
      exchange(fresh, place.directory);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
    return whole('its files were made anew from its recipe');
  }
  // Without its directory it counts as lost: a daemon takes it for missing, and the next pull or load brings it.
  if (images.some(({ digests }) => digests.length > 0)) {
    const trash = store.temporary();
    failpoint('check.repair.lost');
    renameSync(place.directory, trash);
    rmSync(trash, { recursive: true, force: true });
    return remains(`it was marked as lost: ${again}${sourcesOf(images)}`);
  }
  const aside = store.setAside(place.directory, 'layers', layer.id.toString(36));
  return remains(`it was marked as lost and moved to ${aside}: ${again}`);
}

/** Registries that are known to have it. */
function sourcesOf(images: readonly RecordedImage[]): string {
  const digests = images.flatMap((image) => image.digests);
  return digests.length === 0 ? '' : ` (a registry has it: ${digests[0]})`;
}

function ownerOf({ containers, hub }: Known, { id }: LayerRow): string {
  const container = containers.find(({ layerIds }) => layerIds.includes(id));
  if (container !== undefined) {
    return `the image of container ${container.name}`;
  }
  return hub.includes(id) ? 'an image of the hub' : 'another layer';
}

/** Topmost first. */
function lowersOf(store: Store, { layers }: Known, layer: LayerRow): string[] {
  const lowers: string[] = [];
  for (let id = layer.parentId; id !== null; id = layers.get(id)?.parentId ?? null) {
    if (existsSync(store.layerDiff(id))) {
      lowers.push(store.layerDiff(id));
    }
  }
  return lowers;
}

function shown(problems: readonly string[]): string {
  const rest = problems.length - PROBLEMS_SHOWN;
  const text = problems.slice(0, PROBLEMS_SHOWN).join('; ');
  return rest > 0 ? `${text}; and ${rest} more` : text;
}

/** Directories among the layers that no row names: what a crash left. Never beside a daemon, which makes such. */
export function checkLayerLeftovers(store: Store): Finding[] {
  if (store.isInUse) {
    return [];
  }
  const names = new Set(store.records.layers().map(({ id }) => id.toString(36)));
  return namesIn(store.paths.layers)
    .filter((name) => !names.has(name))
    .map((name) => ({
      kind: 'left-over',
      subject: `directory layers/${name}`,
      problem: 'belongs to no layer',
      remedy: 'it is removed',
      repair: () => {
        rmSync(`${store.paths.layers}/${name}`, { recursive: true, force: true });
        return whole('it was removed');
      },
    }));
}
