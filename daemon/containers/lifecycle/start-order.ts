import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import { containerOfMode } from '../request/namespaces.ts';
import { isLive } from '../state/state-facts.ts';

/** Ids of the containers, as far as they are there, whose namespaces this one joins: they must run when it starts. */
function namespaceOwnerIds(
  { registry }: Pick<ContainerContext, 'registry'>,
  { hostConfig }: Pick<ContainerSpec, 'hostConfig'>,
): string[] {
  const { NetworkMode, IpcMode, PidMode } = hostConfig;
  const refs = [NetworkMode, IpcMode, PidMode].flatMap((mode) => containerOfMode(mode) ?? []);
  return [...new Set(refs.flatMap((ref) => (registry.get(ref) ?? registry.byName(ref))?.id ?? []))];
}

/** Owners of its namespaces, and the containers that it is linked to: all must run. */
function neededIds(context: Pick<ContainerContext, 'registry'>, spec: ContainerSpec): string[] {
  return [
    ...new Set([...namespaceOwnerIds(context, spec), ...(spec.links ?? []).map(({ targetId }) => targetId)]),
  ];
}

/**
 * The owners that `id` waits for: all but those that join `id` themselves, at once or through others: no container is
 * to wait for ever. Pure.
 */
export function awaitedOwners(id: string, ownersOf: (id: string) => readonly string[]): string[] {
  return ownersOf(id).filter((owner) => !reaches(owner, id, ownersOf));
}

function reaches(from: string, target: string, ownersOf: (id: string) => readonly string[]): boolean {
  const met = new Set([from]);
  for (const id of met) {
    ownersOf(id).forEach((next) => met.add(next));
  }
  return met.has(target);
}

/**
 * Resolves when no owner of a namespace is about to be started any more, by the daemon's start or by its restart
 * policy: each runs then, or will not. A start tells which.
 */
export async function ownersSettled(context: ContainerContext, container: Container): Promise<void> {
  if (neededIds(context, container.spec).length === 0) {
    return;
  }
  const { registry, waiters } = context;
  const ownersOf = (id: string): string[] => {
    const other = registry.get(id);
    return other === undefined ? [] : neededIds(context, other.spec);
  };
  for (const id of awaitedOwners(container.id, ownersOf)) {
    const owner = registry.get(id);
    await context.restoring.get(id);
    await owner?.startWithDaemon;
    if (owner !== undefined && registry.get(id) === owner) {
      await waiters.wait(id, owner.state, 'settled').done;
    }
  }
}

/** Warns of containers that run on in namespaces of the last run of this container. */
export function warnNamespaceUsers(context: ContainerContext, { id }: Container): void {
  const { registry, log } = context;
  const users = registry
    .all()
    .filter(({ spec, state }) => isLive(state) && namespaceOwnerIds(context, spec).includes(id));
  if (users.length > 0) {
    log.warn(
      { container: id, users: users.map((user) => user.id) },
      'containers keep the namespaces of the last run of another one until they are restarted',
    );
  }
}
