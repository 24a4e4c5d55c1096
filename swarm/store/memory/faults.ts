/** Calls that can be made to fail. `keepAlive`, `claim` and the like belong to elections. */
export type MemoryCall = 'view' | 'commit' | 'watch' | 'compact' | 'grant' | 'keepAlive' | 'revoke' | 'claim';

export type MemoryFault =
  /** A commit is refused as if a key had changed in between. */
  | { kind: 'conflict' }
  /** Nothing is done. */
  | { kind: 'unavailable' }
  /** It is done, and the caller does not hear so. */
  | { kind: 'lost answer' }
  /** The caller hears that the answer is lost; so much later it is done, where it then may. */
  | { kind: 'late'; ms: number }
  /** Both ways take so long together; past `limits.swarmStoreCallMs` the answer is lost. */
  | { kind: 'delay'; ms: number };

/** Asked before each call; undefined = nothing goes wrong. A simulation decides by its seed, a test by its script. */
export type MemoryFaults = (call: MemoryCall) => MemoryFault | undefined;

/** Faults in a row, each for the next call of its kind; then none. */
export class ScriptedFaults {
  readonly #waiting: { call: MemoryCall; fault: MemoryFault }[] = [];

  add(call: MemoryCall, fault: MemoryFault): void {
    this.#waiting.push({ call, fault });
  }

  readonly next: MemoryFaults = (call) => {
    const index = this.#waiting.findIndex((waiting) => waiting.call === call);
    return index === -1 ? undefined : this.#waiting.splice(index, 1)[0]?.fault;
  };
}
