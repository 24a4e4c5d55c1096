import { addTo } from './state/multi-map.ts';
import type { SlotKey } from './state/entries.ts';

/** What the next pass has to look at. */
export class Attention {
  readonly nodes = new Set<string>();
  /** Services whose number of tasks, ports or leftovers may be wrong. */
  readonly services = new Set<string>();
  /** Services whose update may go on. */
  readonly updates = new Set<string>();
  /** Networks that were changed or removed. */
  readonly networks = new Set<string>();
  readonly slots = new Map<string, Set<SlotKey>>();

  slot(service: string, slot: SlotKey): void {
    addTo(this.slots, service, slot);
  }

  get isEmpty(): boolean {
    return (
      this.nodes.size + this.services.size + this.updates.size + this.networks.size + this.slots.size === 0
    );
  }

  /** All of it, and nothing is left. */
  take(): Attention {
    const taken = new Attention();
    for (const name of ['nodes', 'services', 'updates', 'networks'] as const) {
      this[name].forEach((id) => taken[name].add(id));
      this[name].clear();
    }
    for (const [service, slots] of this.slots) {
      taken.slots.set(service, slots);
    }
    this.slots.clear();
    return taken;
  }
}
