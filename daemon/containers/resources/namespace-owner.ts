import { conflict } from '../../base/errors.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import type { LiveRun } from '../state/state.ts';
import { containerOfMode } from '../request/namespaces.ts';
import { liveRun } from '../state/state-facts.ts';

/** A container whose namespaces another one joins. */
export interface NamespaceOwner {
  container: Container;
  run: LiveRun;
}

/** dockerd's words for an owner that does not run, by namespace. */
const REFUSALS = {
  network: (id: string) => `cannot join network of a non running container: ${id}`,
  pid: (id: string) => `cannot join PID namespace of a non running container: ${id}`,
  ipc: (id: string) => `can't join IPC of container ${id}: container ${id} is not running`,
};

/**
 * The container that a mode `container:<id>` names, which must run: its namespaces live no longer than its processes.
 * One that was not there at create has the client's name for it in the mode. Throws not_found, conflict.
 */
export function runningNamespaceOwner(
  { registry }: Pick<ContainerContext, 'registry'>,
  id: string,
  namespace: keyof typeof REFUSALS,
): NamespaceOwner {
  const container = registry.find(id);
  const run = liveRun(container.state);
  if (run === undefined) {
    throw conflict(REFUSALS[namespace](container.id));
  }
  return { container, run };
}

/** The container whose network another one is in or would start in: itself, or one that it joins. */
export function networkOwnerId(
  { registry }: Pick<ContainerContext, 'registry'>,
  container: Container,
): string {
  const met = new Set<string>();
  let owner = container;
  while (!met.has(owner.id)) {
    met.add(owner.id);
    const run = liveRun(owner.state);
    const ref = containerOfMode(owner.spec.hostConfig.NetworkMode);
    const next = ref === undefined ? undefined : (registry.get(ref) ?? registry.byName(ref));
    if (run !== undefined || next === undefined) {
      return run?.sandbox.ownerId ?? owner.id;
    }
    owner = next;
  }
  return container.id;
}
