/** What requests may go to: a group of an action with its targets. */
export interface Share<T> {
  weight: number;
  /** Targets that get requests: those that are healthy, or all that do not drain where none is. */
  targets: readonly T[];
}

/**
 * Gives requests to targets: groups by their weights, the targets of a group in turns. Groups without targets are
 * passed by while another one has some. Weights are kept exactly, not by chance: of any run of requests each group gets
 * its share, spread evenly (smooth weighted round robin, as nginx).
 */
export class Chooser<T> {
  readonly #groups: { index: number; share: Share<T>; current: number; next: number }[];

  /** `before`: what gave the requests until the shares changed. Turns go on where it was, or some would never come. */
  constructor(shares: readonly Share<T>[], before?: Chooser<T>) {
    this.#groups = shares
      .map((share, index) => {
        const known = before === undefined ? [] : before.#groups;
        const { current = 0, next = 0 } = known.find((group) => group.index === index) ?? {};
        return { index, share, current, next };
      })
      .filter(({ share }) => share.weight > 0 && share.targets.length > 0);
  }

  /** The next target that is none of `tried`; undefined = there is none. */
  next(tried: ReadonlySet<T>): T | undefined {
    const left =
      tried.size === 0
        ? this.#groups
        : this.#groups.filter(({ share }) => share.targets.some((target) => !tried.has(target)));
    let best = left[0];
    let total = 0;
    for (const group of left) {
      group.current += group.share.weight;
      total += group.share.weight;
      if (best === undefined || group.current > best.current) {
        best = group;
      }
    }
    if (best === undefined) {
      return undefined;
    }
    best.current -= total;
    const { targets } = best.share;
    for (let step = 0; step < targets.length; step += 1) {
      const target = targets[best.next % targets.length];
      best.next = (best.next + 1) % targets.length;
      if (target !== undefined && !tried.has(target)) {
        return target;
      }
    }
    return undefined;
  }
}
