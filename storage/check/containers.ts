import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordedContainer } from '../database/store-records.ts';
import { isRemoved, isWorthKeeping, namesIn } from '../orphans.ts';
import { remains, whole, type Finding, type Repaired } from './finding.ts';
import type { Store } from './store.ts';

/** Makes upper, work and merged of a container, as its creation does. */
export type MakeRootfs = (containerId: string, layerIds: readonly number[]) => Promise<void>;

/** Containers without files, and files without a container. Nothing that a container wrote is ever deleted. */
export function checkContainers(store: Store, makeRootfs: MakeRootfs): Finding[] {
  const { records, paths } = store;
  const containers = records.containers();
  const missing = containers
    .filter(({ id }) => !existsSync(join(paths.containers, id, 'upper')))
    // A removal under way, which the next start finishes.
    .filter(({ id }) => !isRemoved(join(paths.containers, id)))
    .map((container) => withoutFiles(store, container, makeRootfs));
  if (store.isInUse) {
    // A container that is just made has its directory before its row, one that is removed after it.
    return missing;
  }
  const owners = new Set([
    ...containers.map(({ id }) => id),
    ...records.quarantined().map((text) => text.replace(/^containers /, '')),
  ]);
  const orphans = namesIn(paths.containers)
    .filter((name) => !owners.has(name))
    .map((name): Finding => ({
      // Of a creation that was interrupted, or a removal.
      kind: isWorthKeeping(join(paths.containers, name)) ? 'container' : 'left-over',
      subject: `directory containers/${name}`,
      problem: 'belongs to no container',
      remedy: 'what a container wrote is moved to quarantine/containers, an empty one is removed',
      repair: () => setContainerAside(store, name),
    }));
  return [...missing, ...orphans];
}

function withoutFiles(store: Store, { id, name, layerIds }: RecordedContainer, make: MakeRootfs): Finding {
  return {
    kind: 'container',
    subject: `container ${name}`,
    problem: `has no files: containers/${id}/upper is missing`,
    remedy: 'an empty directory is made: what it had written is lost',
    repair: async () => {
      const top = layerIds.at(-1);
      if (top !== undefined && !existsSync(store.layerDiff(top))) {
        return remains('its image is incomplete: pull or load it again, then repair again');
      }
      await make(id, layerIds);
      return whole('an empty directory was made: what it had written is lost');
    },
  };
}

function setContainerAside(store: Store, name: string): Repaired {
  const path = join(store.paths.containers, name);
  if (store.mounted.has(name)) {
    return remains('it is mounted: start the daemon, which unmounts it, and repair again');
  }
  if (isWorthKeeping(path)) {
    return whole(`it was moved to ${store.setAside(path, 'containers', name)}`);
  }
  rmSync(path, { recursive: true, force: true });
  return whole('it was empty and was removed');
}

/** Volumes without a directory, and directories without a volume, which become volumes again. */
export function checkVolumes(store: Store): Finding[] {
  const { records, paths } = store;
  const names = records.volumes();
  const home = (name: string): string => join(paths.volumes, name);
  const missing = names
    .filter((name) => !existsSync(join(home(name), '_data')))
    .map((name): Finding => ({
      kind: 'volume',
      subject: `volume ${name}`,
      problem: 'has no directory',
      remedy: 'an empty one is made: what it held is lost',
      repair: () => {
        const removed = namesIn(paths.volumes).find(
          (entry) => /^\.removed-[0-9a-f]{16}-/.test(entry) && entry.slice(26) === name,
        );
        if (removed !== undefined && !existsSync(home(name))) {
          renameSync(home(removed), home(name));
          return whole('a removal that was never finished was taken back');
        }
        mkdirSync(home(name), { recursive: true, mode: 0o701 });
        mkdirSync(join(home(name), '_data'), { recursive: true, mode: 0o755 });
        return whole('an empty directory was made: what it held is lost');
      },
    }));
  if (store.isInUse) {
    return missing;
  }
  const orphans = namesIn(paths.volumes)
    .filter((entry) => !entry.startsWith('.') && !names.includes(entry))
    .filter((entry) => existsSync(join(home(entry), '_data')))
    .map((name): Finding => ({
      kind: 'volume',
      subject: `directory volumes/${name}`,
      problem: 'belongs to no volume',
      remedy: 'it becomes a volume of that name, without labels and options',
      repair: () => {
        records.adoptVolume(name);
        return whole('it is a volume of that name again, without labels and options');
      },
    }));
  return [...missing, ...orphans];
}

/** Half-written things that a crash left. Beside a daemon they are not left over. */
export function checkTemporary(store: Store): Finding[] {
  if (store.isInUse) {
    return [];
  }
  const removed = namesIn(store.paths.volumes)
    .filter((entry) => entry.startsWith('.removed-'))
    .map((entry) => ['volumes', join(store.paths.volumes, entry)] as const);
  const temporary = namesIn(store.paths.temporary).map(
    (entry) => ['tmp', join(store.paths.temporary, entry)] as const,
  );
  return [...temporary, ...removed].map(([folder, path]) => ({
    kind: 'left-over',
    subject: `${folder}/${path.slice(path.lastIndexOf('/') + 1)}`,
    problem: 'was left behind half-written or half-removed',
    remedy: 'it is removed',
    repair: () => {
      rmSync(path, { recursive: true, force: true });
      return whole('it was removed');
    },
  }));
}
