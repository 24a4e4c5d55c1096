import { invalidArgument, notFound } from '../../base/errors.ts';
import type { Container } from './container.ts';
import { nameConflict } from './names.ts';

export interface ContainerCounts {
  total: number;
  running: number;
  paused: number;
  stopped: number;
}

/** All containers in memory, found by id, name or unique prefix of an id. */
export class ContainerIndex {
  readonly #byId = new Map<string, Container>();
  /** Names in use or promised to a container that is being created. */
  readonly #idByName = new Map<string, string>();
  /** Containers with links, by the id of each target. */
  readonly #linkedTo = new Map<string, Set<Container>>();
  /** Newest first; rebuilt when asked for after a change. */
  #newestFirst: readonly Container[] | undefined;

  /** The container of a full id, a name (with or without slash) or a unique prefix. Throws what dockerd prints. */
  find(ref: string): Container {
    const container = this.#byId.get(ref) ?? this.byName(ref) ?? this.#byPrefix(ref) ?? this.#byLink(ref);
    if (container === undefined) {
      throw notFound(`No such container: ${ref}`);
    }
    return container;
  }

  get(id: string): Container | undefined {
    return this.#byId.get(id);
  }

  byName(ref: string): Container | undefined {
    const id = this.#idByName.get(ref.startsWith('/') ? ref.slice(1) : ref);
    return id === undefined ? undefined : this.#byId.get(id);
  }

  /** Newest first. */
  all(): readonly Container[] {
    this.#newestFirst ??= [...this.#byId.values()].toSorted((a, b) =>
      a.createdNano < b.createdNano ? 1 : a.createdNano > b.createdNano ? -1 : 0,
    );
    return this.#newestFirst;
  }

  /** As /info counts: stopped is everything that neither runs nor is paused. */
  counts(): ContainerCounts {
    const all = this.all();
    const running = all.filter(({ state }) => state.status === 'running').length;
    const paused = all.filter(({ state }) => state.status === 'paused').length;
    return { total: all.length, running, paused, stopped: all.length - running - paused };
  }

  /** Containers that were created with a link to this one. */
  linkedTo(targetId: string): readonly Container[] {
    return [...(this.#linkedTo.get(targetId) ?? [])];
  }

  isNameTaken(name: string): boolean {
    return this.#idByName.has(name);
  }

  /** Promises a name to an id. Throws conflict when another has it. */
  reserveName(name: string, id: string): void {
    const ownerId = this.#idByName.get(name);
    if (ownerId !== undefined && ownerId !== id) {
      throw nameConflict(name, ownerId);
    }
    this.#idByName.set(name, id);
  }

  releaseName(name: string, id: string): void {
    if (this.#idByName.get(name) === id) {
      this.#idByName.delete(name);
    }
  }

  add(container: Container): void {
    this.#byId.set(container.id, container);
    this.#idByName.set(container.name, container.id);
    for (const { targetId } of container.spec.links ?? []) {
      this.#linkedTo.set(targetId, (this.#linkedTo.get(targetId) ?? new Set()).add(container));
    }
    this.#newestFirst = undefined;
  }

  delete(container: Container): void {
    this.#byId.delete(container.id);
    this.#linkedTo.delete(container.id);
    this.#linkedTo.forEach((parents) => parents.delete(container));
    this.releaseName(container.name, container.id);
    this.#newestFirst = undefined;
  }

  /** `parent/alias` names the container that a link leads to. */
  #byLink(ref: string): Container | undefined {
    const [, parent, alias] = /^\/?([^/]+)\/([^/]+)$/.exec(ref) ?? [];
    const links = parent === undefined ? [] : (this.byName(parent)?.spec.links ?? []);
    return this.#byId.get(links.find((link) => link.alias === alias)?.targetId ?? '');
  }

  #byPrefix(prefix: string): Container | undefined {
    if (!/^[0-9a-f]+$/.test(prefix)) {
      return undefined;
    }
    let found: Container | undefined;
    for (const [id, container] of this.#byId) {
      if (id.startsWith(prefix)) {
        if (found !== undefined) {
          throw invalidArgument(`multiple IDs found with provided prefix: ${prefix}`);
        }
        found = container;
      }
    }
    return found;
  }
}
