import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { TargetGroup } from '../groups/target-group.ts';
import { targetLimits } from '../limits.ts';
import { targetRecordId, type Target } from '../registrations/target.ts';
import type { Tables } from '../store/tables.ts';

/** Where targets that are not given by their address are: filled by `daemon/boot`. */
export interface TargetPlaces {
  /**
   * The address at which this host reaches a container, task, node or service; undefined = there is none, or it does
   * not run. `port`: absent = as the target says.
   */
  find(group: TargetGroup, target: Target): Promise<Place | undefined>;
}

export interface Place {
  host: string;
  port?: number;
}

export interface PlacesDeps {
  tables: Tables;
  places: TargetPlaces;
  clock: Clock;
  log: Logger;
}

/** Addresses of targets, looked up again and again: containers get others, and services move. */
export class KnownPlaces implements Disposable {
  readonly #deps: PlacesDeps;
  #known = new Map<string, Place>();
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(deps: PlacesDeps) {
    this.#deps = deps;
  }

  /** Where a target takes requests; undefined = nobody knows. */
  of(group: TargetGroup, target: Target): { host: string; port: number } | undefined {
    const place: Place | undefined =
      group.type === 'IP' ? { host: target.id } : this.#known.get(targetRecordId(target));
    const port = place?.port ?? target.port;
    return place === undefined || port === undefined ? undefined : { host: place.host, port };
  }

  /** Looks now, then every second. */
  async follow(): Promise<void> {
    if (this.#isClosed) {
      return;
    }
    try {
      await this.look();
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error) }, 'the addresses of targets were not found');
    }
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.follow().catch((error: unknown) =>
        this.#deps.log.error({ err: error }, 'places are not followed'),
      );
    }, targetLimits.followMs);
  }

  async look(): Promise<void> {
    const { tables, places } = this.#deps;
    const found = new Map<string, Place>();
    for (const group of tables.groups.below()) {
      if (group.type !== 'INSTANCE' && group.type !== 'ALB') {
        continue;
      }
      for (const target of tables.targets.below(`${group.id}/`)) {
        const place = await places.find(group, target);
        if (place !== undefined) {
          found.set(targetRecordId(target), place);
        }
      }
    }
    this.#known = found;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
  }
}
