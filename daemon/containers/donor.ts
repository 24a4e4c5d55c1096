import { conflict, notFound } from '../base/errors.ts';
import type { Container } from './container.ts';
import type { ContainerContext } from './context.ts';
import type { LiveRun } from './state.ts';
import { liveRun } from './state-facts.ts';

/** A container of whose namespaces another one shares some. */
export interface Donor {
  container: Container;
  run: LiveRun;
}

/** dockerd's words for a donor that does not run, by namespace. */
const REFUSALS = {
  network: (id: string) => `cannot join network of a non running container: ${id}`,
  pid: (id: string) => `cannot join PID namespace of a non running container: ${id}`,
  ipc: (id: string) => `can't join IPC of container ${id}: container ${id} is not running`,
};

/**
 * The container that a mode `container:<id>` names, which must run: its namespaces live no longer than its processes.
 * Throws not_found, conflict.
 */
export function runningDonor(
  { registry }: Pick<ContainerContext, 'registry'>,
  id: string,
  namespace: keyof typeof REFUSALS,
): Donor {
  const container = registry.get(id);
  if (container === undefined) {
    throw notFound(`No such container: ${id}`);
  }
  const run = liveRun(container.state);
  if (run === undefined) {
    throw conflict(REFUSALS[namespace](id));
  }
  return { container, run };
}
