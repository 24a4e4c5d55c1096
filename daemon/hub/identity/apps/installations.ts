import type { Clock } from '../../../base/clock.ts';
import { conflict, notFound } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { refuseInvalid } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import { Collection } from '../../records/collection.ts';
import { Counters } from '../../records/counters.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import type { Accounts } from '../accounts.ts';
import { nameKey } from '../names.ts';
import type { Selection } from '../tokens/token.ts';
import type { App, Installation } from './app.ts';
import type { Apps } from './apps.ts';

export interface InstallationsDeps {
  mirror: Mirror;
  clock: Clock;
  accounts: Accounts;
  apps: () => Apps;
  /** The id of a repository of that owner, by its name; undefined = has none. */
  repositoryId: (owner: string, name: string) => number | undefined;
}

/** Where apps are installed. */
export class Installations {
  readonly #deps: InstallationsDeps;
  readonly #installations: Collection<Installation>;
  readonly #counters: Counters;

  constructor(deps: InstallationsDeps) {
    this.#deps = deps;
    this.#installations = new Collection(deps.mirror, 'installation/');
    this.#counters = new Counters(deps.mirror);
  }

  /** Undefined also where its account is gone. */
  find(id: number): Installation | undefined {
    return this.#living(this.#installations.get(String(id)));
  }

  /** By id, oldest first. */
  all(): Installation[] {
    return this.#installations
      .all()
      .filter((installation) => this.#living(installation) !== undefined)
      .toSorted((one, other) => one.id - other.id);
  }

  ofApp(app: Pick<App, 'id'>): Installation[] {
    return this.all().filter((installation) => installation.app === app.id);
  }

  /** Of an app at an account; undefined = there is none. */
  at(app: Pick<App, 'id'>, account: { id: number }): Installation | undefined {
    return this.ofApp(app).find((installation) => installation.account.id === account.id);
  }

  /** For all repositories of the account, or those of these names. Throws not_found, conflict, InvalidFieldsError. */
  create(
    slug: string,
    accountName: string,
    repositories: readonly string[] | undefined,
  ): Promise<Installation> {
    return this.#deps.mirror.change(() => {
      const app = this.#deps.apps().bySlug(slug);
      const account = this.#deps.accounts.find(accountName);
      if (account === undefined) {
        throw notFound(`no such user or organization: ${accountName}`);
      }
      if (this.at(app, account) !== undefined) {
        throw conflict(`${slug} is installed at ${accountName} already`);
      }
      if (this.ofApp(app).length >= limits.hubInstallationsOfAppMax) {
        throw conflict(`${slug} is installed at ${limits.hubInstallationsOfAppMax} accounts already`);
      }
      const { id, change } = this.#counters.next('installation');
      const nowMs = this.#nowMs();
      const installation: Installation = {
        id,
        app: app.id,
        account: { kind: account.kind, name: account.name, id: account.id },
        repositories: repositories === undefined ? 'all' : this.#ids(account.name, repositories),
        suspendedMs: null,
        createdMs: nowMs,
        updatedMs: nowMs,
      };
      failpoint('hub.installation.create');
      return {
        changes: [
          change,
          this.#deps.apps().unchanged(app),
          this.#deps.accounts.unchanged(nameKey(account.name)),
          this.#installations.put(String(id), installation),
        ],
        answer: installation,
      };
    });
  }

  /** Throws not_found. */
  suspend(id: number, isSuspended: boolean): Promise<void> {
    return this.#deps.mirror.change(() => {
      const nowMs = this.#nowMs();
      const suspendedMs = isSuspended ? nowMs : null;
      const changed = { ...this.#current(id), suspendedMs, updatedMs: nowMs };
      return { changes: [this.#installations.put(String(id), changed)], answer: undefined };
    });
  }

  /** Its tokens lead to nobody then. Throws not_found. */
  remove(id: number): Promise<void> {
    return this.#deps.mirror.change(() => {
      this.#current(id);
      return { changes: [this.#installations.delete(String(id))], answer: undefined };
    });
  }

  /** A change that holds if the installation is still as it is now. */
  unchanged(installation: Installation): RecordChange {
    return this.#installations.unchanged(String(installation.id));
  }

  /** What goes with an app. */
  removals(app: App): RecordChange[] {
    return this.ofApp(app).map(({ id }) => this.#installations.delete(String(id)));
  }

  #living(installation: Installation | undefined): Installation | undefined {
    const account = installation?.account;
    return account === undefined || this.#deps.accounts.same(account.name, account.id) === undefined
      ? undefined
      : installation;
  }

  #current(id: number): Installation {
    const current = this.find(id);
    if (current === undefined) {
      throw notFound(`no such installation: ${id}`);
    }
    return current;
  }

  #ids(owner: string, names: readonly string[]): number[] {
    const found = names.map((name) => ({ name, id: this.#deps.repositoryId(owner, name) }));
    refuseInvalid(
      found
        .filter(({ id }) => id === undefined)
        .map(({ name }) => ({
          resource: 'Installation',
          field: 'repositories',
          code: 'missing',
          message: `must be repositories of ${owner}`,
          value: name,
        })),
    );
    return found.flatMap(({ id }) => (id === undefined ? [] : [id]));
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

/** Whether a selection has a repository of an account among it. */
export function selects(
  { account, repositories }: { account: { id: number }; repositories: Selection },
  repository: { id: number; owner: { id: number } },
): boolean {
  return (
    repository.owner.id === account.id && (repositories === 'all' || repositories.includes(repository.id))
  );
}
