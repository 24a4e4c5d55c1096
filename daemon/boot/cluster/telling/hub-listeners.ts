import type { AuditRecord } from '../../../hub/audit/audit-record.ts';
import type { HubDeps } from '../../../hub/hub.ts';
import type { HubNews } from '../../../hub/occurrences/news.ts';
import type { HubPlace } from '../../hub/hub-place.ts';

/** Whoever is told what happens at the hub. */
export interface HubListener {
  audited(record: AuditRecord): void;
  news(news: HubNews): void;
}

/** Those who listen to this hub, and to the ones that come after it in another place. */
export class HubListeners {
  readonly #listeners: HubListener[] = [];
  readonly #place: Pick<HubPlace, 'hub'>;

  constructor(place: Pick<HubPlace, 'hub'>) {
    this.#place = place;
  }

  /** For the hub. */
  get told(): Required<Pick<HubDeps, 'audited' | 'news'>> {
    return {
      audited: (record) => this.#listeners.forEach((listener) => listener.audited(record)),
      news: (news) => this.#listeners.forEach((listener) => listener.news(news)),
    };
  }

  listen(listener: HubListener): void {
    this.#listeners.push(listener);
  }

  /** Tells again what was written down in the last minutes: who was told of it may have lost it. */
  tellAgain(): void {
    this.#place.hub?.audit.recent().forEach((record) => this.told.audited(record));
  }
}
