import type { ContainerControl } from '../../../daemon/containers/control/ports.ts';
import type { FreezerState } from '../../../runtime/cgroups/freezer.ts';
import type { LimitUpdate } from '../../../runtime/cgroups/limit-update.ts';
import type { ContainerSample } from '../../../runtime/cgroups/sample.ts';
import type { LimitChanges } from '../../../runtime/cgroups/limits.ts';

/** Cgroups that exist only in memory. */
export class FakeControl implements ContainerControl {
  readonly freezers = new Map<string, FreezerState>();
  /** In force, of containers that were updated while they ran. */
  readonly limits = new Map<string, LimitChanges>();
  readonly #unsettled = new Map<string, { tag: string; old: LimitChanges }>();
  readonly #waiting = new Map<string, (() => void)[]>();
  /** What happens before a freeze succeeds. */
  onFreeze: (id: string) => void | Promise<void> = () => undefined;

  async freeze(id: string): Promise<void> {
    await this.onFreeze(id);
    this.freezers.set(id, 'frozen');
  }

  thaw(id: string): void {
    this.freezers.set(id, 'thawed');
    this.#waiting.get(id)?.forEach((action) => action());
    this.#waiting.delete(id);
  }

  async changeLimits(id: string, changes: LimitChanges, tag: string): Promise<LimitUpdate> {
    const old = this.limits.get(id) ?? {};
    this.#unsettled.set(id, { tag, old });
    this.limits.set(id, { ...old, ...changes });
    return {
      keep: () => {
        this.#unsettled.delete(id);
      },
      undo: async () => {
        this.#unsettled.delete(id);
        this.limits.set(id, old);
      },
    };
  }

  async settleLimits(id: string, tag: string): Promise<void> {
    const left = this.#unsettled.get(id);
    if (left !== undefined && left.tag !== tag) {
      this.limits.set(id, left.old);
    }
    this.#unsettled.delete(id);
  }

  /** What `sample` answers, by container; undefined = it has ended. */
  readonly samples = new Map<string, ContainerSample>();
  samplesTaken = 0;

  sample(id: string): ContainerSample | undefined {
    this.samplesTaken += 1;
    return this.samples.get(id);
  }

  hostCpu(): { totalNs: number; online: number } {
    return { totalNs: this.samplesTaken * 1e9, online: 2 };
  }

  processes(): number[] {
    return [process.pid];
  }

  /** Now, or when it is thawed: a frozen process takes no signal. */
  whenThawed(id: string, action: () => void): void {
    if (this.freezerState(id) === 'thawed') {
      action();
    } else {
      this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), action]);
    }
  }

  freezerState(id: string): FreezerState {
    return this.freezers.get(id) ?? 'thawed';
  }
}
