import type { ContainerControl, FreezerState } from '../../../daemon/containers/control/port.ts';

/** Cgroups that exist only in memory. */
export class FakeControl implements ContainerControl {
  readonly freezers = new Map<string, FreezerState>();
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
