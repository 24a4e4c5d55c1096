import { generateKeyPair, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../../../base/clock.ts';
import { conflict, notFound } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { refuseInvalid, type InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import { Collection } from '../../records/collection.ts';
import { Counters } from '../../records/counters.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import type { Account } from '../account.ts';
import type { Accounts } from '../accounts.ts';
import { nameKey } from '../names.ts';
import { readPermissions } from '../tokens/permissions.ts';
import { hashSecret, newSecret } from '../tokens/secret.ts';
import type { App, AppKey, Application, ClientSecret, OAuthApp } from './app.ts';
import { appNameProblem, slugOf, urlProblem } from './app-problems.ts';
import { newClientId, readClientId } from './client-id.ts';

export interface AppsDeps {
  mirror: Mirror;
  clock: Clock;
  accounts: Accounts;
  /** What goes with an app: its installations. */
  removals(app: App): readonly RecordChange[];
}

export interface NewApplication {
  name: string;
  description: string | null;
  url: string | null;
}

export interface NewApp extends NewApplication {
  permissions: Readonly<Record<string, string>>;
  events: readonly string[];
}

export interface NewOAuthApp extends NewApplication {
  callbackUrl: string | null;
}

/** What an application has to keep: nobody can ask for it again. */
export interface MadeApplication<T extends Application> {
  application: T;
  clientSecret: string;
}

const generate = promisify(generateKeyPair);

/** Apps and OAuth applications of all accounts. Everything is answered from memory. */
export class Apps {
  readonly #deps: AppsDeps;
  readonly #apps: Collection<App>;
  readonly #oauthApps: Collection<OAuthApp>;
  readonly #counters: Counters;

  constructor(deps: AppsDeps) {
    this.#deps = deps;
    this.#apps = new Collection(deps.mirror, 'app/');
    this.#oauthApps = new Collection(deps.mirror, 'oauth-app/');
    this.#counters = new Counters(deps.mirror);
  }

  /** Undefined also where its owner is gone. */
  app(id: number): App | undefined {
    return this.#living(this.#apps.get(String(id)));
  }

  oauthApp(id: number): OAuthApp | undefined {
    return this.#living(this.#oauthApps.get(String(id)));
  }

  byClientId(clientId: string): Application | undefined {
    const read = readClientId(clientId);
    const found = read && (read.kind === 'app' ? this.app(read.id) : this.oauthApp(read.id));
    if (read === undefined || found?.clientId === clientId) {
      return found;
    }
    // One that came from another hub has another number here than there.
    const all: readonly Application[] = read.kind === 'app' ? this.apps() : this.oauthApps();
    return all.find((application) => application.clientId === clientId);
  }

  /** The application that has both. Takes as long for any wrong secret. */
  byClientSecret(clientId: string, secret: string): Application | undefined {
    const shown = Buffer.from(hashSecret(secret));
    const application = this.byClientId(clientId);
    return application?.secrets.some(({ hash }) => timingSafeEqual(Buffer.from(hash), shown)) === true
      ? application
      : undefined;
  }

  /** By id, oldest first. */
  apps(): App[] {
    return this.#apps.all().toSorted((one, other) => one.id - other.id);
  }

  oauthApps(): OAuthApp[] {
    return this.#oauthApps.all().toSorted((one, other) => one.id - other.id);
  }

  /** Throws not_found. */
  bySlug(slug: string): App {
    const found = this.apps().find((app) => app.slug === slug.toLowerCase());
    if (found === undefined) {
      throw notFound(`no such app: ${slug}`);
    }
    return found;
  }

  /** How many applications of both kinds an account has. */
  countOf(account: Account): number {
    return [...this.apps(), ...this.oauthApps()].filter(({ owner }) => owner.id === account.id).length;
  }

  /** Throws not_found for the owner; InvalidFieldsError, also where the name is taken. */
  async createApp(ownerName: string, asked: NewApp): Promise<MadeApplication<App> & { privateKey: string }> {
    const { privateKey, publicKey } = await newKey();
    const { text, stored } = this.#newSecret();
    const { permissions, problems } = readPermissions(asked.permissions, 'App');
    const made = await this.#deps.mirror.change(() => {
      const owner = this.#owner(ownerName);
      refuseInvalid([...commonProblems('App', asked), ...eventProblems(asked.events), ...problems]);
      const slug = slugOf(asked.name);
      refuseInvalid([this.apps().some((app) => app.slug === slug) ? taken(asked.name) : undefined]);
      const { id, change } = this.#counters.next('app');
      const nowMs = this.#nowMs();
      const app: App = {
        kind: 'app',
        ...this.#common('app', id, owner, asked, stored),
        slug,
        permissions,
        events: asked.events,
        keys: [{ id: 1, publicKey, createdMs: nowMs }],
      };
      failpoint('hub.app.create');
      return {
        changes: [
          change,
          this.#deps.accounts.unchanged(nameKey(owner.name)),
          this.#apps.put(String(id), app),
        ],
        answer: app,
      };
    });
    return { application: made, clientSecret: text, privateKey };
  }

  /** Throws not_found for the owner, InvalidFieldsError. */
  async createOAuthApp(ownerName: string, asked: NewOAuthApp): Promise<MadeApplication<OAuthApp>> {
    const { text, stored } = this.#newSecret();
    const application = await this.#deps.mirror.change(() => {
      const owner = this.#owner(ownerName);
      refuseInvalid([
        ...commonProblems('OAuthApp', asked),
        urlProblem('OAuthApp', 'callback_url', asked.callbackUrl),
      ]);
      const { id, change } = this.#counters.next('oauth-app');
      const made: OAuthApp = {
        kind: 'oauth-app',
        ...this.#common('oauth-app', id, owner, asked, stored),
        callbackUrl: asked.callbackUrl,
      };
      failpoint('hub.oauth-app.create');
      return {
        changes: [
          change,
          this.#deps.accounts.unchanged(nameKey(owner.name)),
          this.#oauthApps.put(String(id), made),
        ],
        answer: made,
      };
    });
    return { application, clientSecret: text };
  }

  /** Another key pair beside those that it has. Throws not_found, conflict. */
  async addKey(slug: string): Promise<{ key: AppKey; privateKey: string }> {
    const { privateKey, publicKey } = await newKey();
    const key = await this.#deps.mirror.change(() => {
      const app = this.bySlug(slug);
      if (app.keys.length >= limits.hubAppKeysMax) {
        throw conflict(`${slug} has ${limits.hubAppKeysMax} keys already: remove one first`);
      }
      const id = Math.max(0, ...app.keys.map((each) => each.id)) + 1;
      const added: AppKey = { id, publicKey, createdMs: this.#nowMs() };
      return { changes: [this.#change(app, { keys: [...app.keys, added] })], answer: added };
    });
    return { key, privateKey };
  }

  /** What it signs is worth nothing from now on. Throws not_found; conflict for its last one. */
  removeKey(slug: string, id: number): Promise<void> {
    return this.#deps.mirror.change(() => {
      const app = this.bySlug(slug);
      const keys = app.keys.filter((key) => key.id !== id);
      if (keys.length === app.keys.length) {
        throw notFound(`${slug} has no key ${id}`);
      }
      if (keys.length === 0) {
        throw conflict(`${slug} has no other key: make one first`);
      }
      return { changes: [this.#change(app, { keys })], answer: undefined };
    });
  }

  /** With its installations; its tokens lead to nobody then. Throws not_found. */
  removeApp(slug: string): Promise<void> {
    return this.#deps.mirror.change(() => {
      const app = this.bySlug(slug);
      return {
        changes: [this.#apps.delete(String(app.id)), ...this.#deps.removals(app)],
        answer: undefined,
      };
    });
  }

  /** As `removeApp`. */
  removeOAuthApp(clientId: string): Promise<void> {
    return this.#deps.mirror.change(() => {
      const found = this.oauthApps().find((application) => application.clientId === clientId);
      if (found === undefined) {
        throw notFound(`no such OAuth application: ${clientId}`);
      }
      return { changes: [this.#oauthApps.delete(String(found.id))], answer: undefined };
    });
  }

  /** A change that holds if the app is still as it is now. */
  unchanged(app: App): RecordChange {
    return this.#apps.unchanged(String(app.id));
  }

  #change(app: App, change: Partial<App>): RecordChange {
    return this.#apps.put(String(app.id), { ...app, ...change, updatedMs: this.#nowMs() });
  }

  #living<T extends Application>(application: T | undefined): T | undefined {
    const owner = application?.owner;
    return owner === undefined || this.#deps.accounts.same(owner.name, owner.id) === undefined
      ? undefined
      : application;
  }

  #owner(name: string): Account {
    const owner = this.#deps.accounts.find(name);
    if (owner === undefined) {
      throw notFound(`no such user or organization: ${name}`);
    }
    return owner;
  }

  #common(
    kind: Application['kind'],
    id: number,
    owner: Account,
    asked: NewApplication,
    secret: ClientSecret,
  ) {
    const nowMs = this.#nowMs();
    return {
      id,
      clientId: newClientId(kind, id),
      name: asked.name,
      description: asked.description,
      url: asked.url ?? '',
      owner: { kind: owner.kind, name: owner.name, id: owner.id },
      secrets: [secret],
      createdMs: nowMs,
      updatedMs: nowMs,
    };
  }

  #newSecret(): { text: string; stored: ClientSecret } {
    const text = newSecret('client');
    return {
      text,
      stored: { hash: hashSecret(text), lastEight: text.slice(-8), createdMs: this.#nowMs() },
    };
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

/** PEM texts: PKCS #8, SubjectPublicKeyInfo. */
function newKey(): Promise<{ privateKey: string; publicKey: string }> {
  return generate('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
}

function commonProblems(resource: string, { name, description, url }: NewApplication) {
  return [
    appNameProblem(resource, name),
    urlProblem(resource, 'url', url),
    (description ?? '').length <= limits.hubDescriptionMax
      ? undefined
      : ({
          resource,
          field: 'description',
          code: 'invalid',
          message: `must have at most ${limits.hubDescriptionMax} characters`,
        } as const),
  ];
}

function eventProblems(events: readonly string[]): InvalidField[] {
  return events
    .filter((event) => !/^[a-z_]{1,50}$/.test(event))
    .map((event) => ({
      resource: 'App',
      field: 'events',
      code: 'invalid',
      message: 'must be names of events',
      value: event,
    }));
}

function taken(name: string): InvalidField {
  return {
    resource: 'App',
    field: 'name',
    code: 'already_exists',
    message: 'is the name of an app already',
    value: name,
  };
}
