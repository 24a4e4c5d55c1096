import type { Mesh } from '../mesh/mesh.ts';
import type { NetworkState } from '../network-state.ts';
import { silenceSteps } from '../plan.ts';
import type { OverlayKernel } from '../ports.ts';

/** Addresses of hosts with tasks that take connections, but for this one. */
export function hostsWithTasks(known: readonly { state: NetworkState }[], own: string): ReadonlySet<string> {
  const hosts = new Set(known.flatMap(({ state }) => state.readyHosts()));
  hosts.delete(own);
  return hosts;
}

/** These hosts are silent now or answer again: new connections go to tasks that can be reached. */
export function leadElsewhere(
  {
    kernel,
    mesh,
  }: { kernel: Pick<OverlayKernel, 'balance' | 'forgetUnanswered'>; mesh: Pick<Mesh, 'reconsider'> },
  state: NetworkState,
  hosts: ReadonlySet<string>,
): void {
  const { id, ingress } = state.network;
  const { balance, cut } = silenceSteps(state, hosts);
  if (balance.length > 0) {
    kernel.balance(id, balance, []);
  }
  if (ingress) {
    mesh.reconsider();
  }
  cut.forEach((backend) => kernel.forgetUnanswered(id, backend));
}
