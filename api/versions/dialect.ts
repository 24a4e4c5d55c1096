import { invariant } from '../../daemon/base/errors.ts';
import type { ChangeableRequest, HostFacts, Quirk, VersionChange } from './change.ts';
import { NEWEST } from './version.ts';
import type { ApiVersion } from './version.ts';

/** How one version speaks on one route: every change newer than the client, applied in order. */
export interface Dialect {
  /** Older request to newest, in place. Ascending. */
  upgrade: (request: ChangeableRequest) => void;
  /** Newest answer to older. Descending. */
  downgrade: (body: unknown, legacy?: unknown) => unknown;
  /** One element of a stream; undefined = the client does not get it. Absent when there is nothing to do. */
  downgradeItem?: (item: unknown) => unknown;
  speaks: (quirk: Quirk) => boolean;
}

/** Makes dialects from the list of changes and keeps them: a few dozen small objects at most. */
export class Dialects {
  readonly #changes: readonly VersionChange[];
  readonly #facts: HostFacts;
  readonly #known = new Map<string, Dialect>();
  readonly #quirks = new Map<ApiVersion, ReadonlySet<Quirk>>();

  /** `changes` in ascending order of `since`. */
  constructor(changes: readonly VersionChange[], facts: HostFacts) {
    for (const [index, change] of changes.entries()) {
      const previous = changes[index - 1];
      invariant(change.since <= NEWEST, `version change ${change.id} is newer than the newest version`);
      invariant(
        previous === undefined || previous.since <= change.since,
        `version change ${change.id} is out of order`,
      );
    }
    this.#changes = changes;
    this.#facts = facts;
  }

  of(version: ApiVersion, routeId: string): Dialect {
    const key = `${version} ${routeId}`;
    let dialect = this.#known.get(key);
    if (dialect === undefined) {
      dialect = this.#make(version, routeId);
      this.#known.set(key, dialect);
    }
    return dialect;
  }

  #make(version: ApiVersion, routeId: string): Dialect {
    const facts = this.#facts;
    const changes = this.#changes.filter(
      (change) => change.since > version && change.routes.includes(routeId),
    );
    const newestFirst = changes.toReversed();
    const quirks = this.#quirksOf(version);
    const dialect: Dialect = {
      upgrade: (request) => {
        for (const change of changes) {
          change.request?.(request, facts);
        }
      },
      downgrade: (body, legacy) => {
        let lowered = body;
        for (const change of newestFirst) {
          lowered = change.response ? change.response(lowered, legacy) : lowered;
        }
        return lowered;
      },
      speaks: (quirk) => quirks.has(quirk),
    };
    if (newestFirst.some((change) => change.item)) {
      dialect.downgradeItem = (item) => {
        let lowered = item;
        for (const change of newestFirst) {
          lowered = change.item && lowered !== undefined ? change.item(lowered) : lowered;
        }
        return lowered;
      };
    }
    return dialect;
  }

  #quirksOf(version: ApiVersion): ReadonlySet<Quirk> {
    let quirks = this.#quirks.get(version);
    if (quirks === undefined) {
      quirks = new Set(
        this.#changes.flatMap((change) => (change.quirk && change.since <= version ? [change.quirk] : [])),
      );
      this.#quirks.set(version, quirks);
    }
    return quirks;
  }
}
