import type { HubCredentials } from '../../api/types/hub/credentials.ts';
import type { HubPort, HubSession } from '../../api/types/hub/ports.ts';
import type { HubRegistryPort } from '../../api/types/hub/registry.ts';
import type { Clock } from '../base/clock.ts';
import { EngineError, notFound, unreachable } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { AuditTrail } from './audit/audit-trail.ts';
import type { AuditRecord } from './audit/audit-record.ts';
import type { LoopNews } from './deliveries/delivery-loop.ts';
import type { Intent } from './deliveries/intent.ts';
import { authenticate, authenticateApp, type Context } from './identity/authenticate.ts';
import { Deployments } from './deployments/deployments.ts';
import { openHubKey } from './identity/hub-key.ts';
import { createIdentity, type Identity } from './identity/identity.ts';
import { Lockout } from './identity/lockout.ts';
import { SignIns } from './identity/sign-in/sign-ins.ts';
import { SignOnLinks } from './identity/sso/sign-on-links.ts';
import { rateFactsOf } from './limits/rate-facts.ts';
import { KeptCounts } from './limits/kept-counts.ts';
import { RateLimits } from './limits/rate-limits.ts';
import { ShortCounts } from './limits/short-counts.ts';
import { RegistryLimits } from './limits/registry-limits.ts';
import type { RateRules } from './limits/rules.ts';
import type { WorkflowTokens } from './identity/workflow/workflow-tokens.ts';
import { Mirror } from './records/mirror.ts';
import type { AsideSource } from './aside/restore.ts';
import type { Records } from './records/port.ts';
import type { EngineLayers } from './registry/files/engine-layers.ts';
import type { BlobFiles } from './registry/files/port.ts';
import { NoteArtifacts } from './notes/artifact/note-artifacts.ts';
import { Notes } from './notes/notes.ts';
import type { WebsiteStatus } from './notes/schema/website-status.ts';
import type { NoteReader } from './notes/reader/port.ts';
import { NoteIndex } from './notes/search/note-index.ts';
import type { TextIndex } from './notes/search/port.ts';
import type { HubNews } from './occurrences/news.ts';
import { occurrenceId } from './occurrences/occurrence-id.ts';
import type { Arrivals } from './registry/peers/arrivals.ts';
import type { BlobPeers } from './registry/peers/port.ts';
import { Registry } from './registry/registry.ts';
import { AccessTokens } from './registry/tokens/access-tokens.ts';
import { Collaborators } from './repositories/collaborators.ts';
import { Repositories } from './repositories/repositories.ts';
import type { Repository } from './repositories/repository.ts';
import { Grants } from './session/grants.ts';
import { pageImages } from './session/page-images.ts';
import { Pages } from './session/pages.ts';
import { RegistryEntrance } from './session/registry/entrance.ts';
import { Session } from './session/session.ts';
import type { SessionDeps } from './session/session-deps.ts';
import { Addresses } from './views/addresses.ts';
import { Webhooks, type WebhookSettings } from './webhooks.ts';

export interface HubDeps {
  records: Records;
  clock: Clock;
  log: Logger;
  /** Where clients find it: `http://127.0.0.1:5010`, without a slash at its end. */
  baseUrl: string;
  rules: RateRules;
  /** Of this host among those with the same records, without `@`; absent = it has them alone. */
  host?: string;
  webhooks: WebhookSettings;
  /** Where the registry keeps bytes. */
  files: BlobFiles;
  /** What the engine has of it already. */
  layers?: EngineLayers | undefined;
  /** Hubs of other hosts. */
  peers?: BlobPeers | undefined;
  /** Bytes that one owner may keep in the registry; 0 = no bound. */
  quotaBytes: number;
  /** How many managers of a swarm hold what is pushed; 0 = two where there are three or more. */
  replicas?: number;
  /** Told of each copy that was made of what too few managers held, with its bytes. */
  repaired?: (bytes: number) => void;
  /** Told of each record of who did what, on all hosts; of those of the last minutes after a start again. */
  audited?: (record: AuditRecord) => void;
  /** Told of what people should know of besides. */
  news?: (news: HubNews) => void;
  /** What is kept aside on this host of hubs that it had before. */
  aside?: () => readonly AsideSource[];
  /** What is known of websites that notes name; absent = nobody checks them. */
  websiteStatus?: WebsiteStatus;
  /** Where texts of notes are found by their words. */
  textIndex: TextIndex;
  /** What reads notes of strangers. */
  noteReader: NoteReader;
}

/** The hub: repositories, those who own them, and what each may do. Its state is in the records. */
export class Hub implements HubPort, Disposable {
  readonly registry: HubRegistryPort;
  readonly #entrance: RegistryEntrance;
  /** What other hosts bring: for whoever serves them. */
  readonly arrivals: Arrivals;
  /** Who did what: for the engine of this host, which tells more. */
  readonly audit: Pick<AuditTrail, 'add' | 'recent'>;
  readonly #kept: readonly { keep(): Promise<void> }[];
  readonly #parts: readonly Disposable[];
  readonly #session: SessionDeps;
  readonly #context: Context;
  readonly pages: Pages;
  /** Built-in tokens of tasks: for whoever starts and ends these. */
  readonly workflowTokens: WorkflowTokens;
  /** Services that run images of repositories: for whoever sees their rollouts. */
  readonly deployments: Deployments;

  /** Reads the records. */
  static async open(deps: HubDeps): Promise<Hub> {
    const mirror = await Mirror.open(deps, '');
    const audit = new AuditTrail({ ...deps, mirror, told: deps.audited });
    const news = deps.news ?? (() => undefined);
    const key = await openHubKey(mirror);
    const { identity, repositories, collaborators, webhooks } = domains(deps, mirror, audit);
    const facts = rateFactsOf({ ...identity, repositories });
    const short = new ShortCounts(() => Number(deps.clock.nowNano() / 1_000_000n));
    const told = (caller: string, limit: string): void => news({ kind: 'limited', caller, limit });
    const rates = new RateLimits({ rules: deps.rules, facts, clock: deps.clock, short, told });
    const lockout = new Lockout(deps.clock, (name) => news({ kind: 'locked-out', name }));
    const host = deps.host ?? '';
    const kept = [
      await KeptCounts.open({ ...deps, host, counted: rates }),
      await KeptCounts.open({ ...deps, host, counted: lockout }),
      await KeptCounts.open({ ...deps, host, counted: short }),
    ];
    const links = new SignOnLinks({ key, clock: deps.clock, baseUrl: deps.baseUrl });
    const outbox = audit.over(webhooks.intents);
    const artifacts = new NoteArtifacts({ ...deps, mirror, outbox, reader: deps.noteReader });
    const registry = new Registry({ ...deps, mirror, repositories, outbox, artifacts });
    const digestOf = (repository: Repository, tag: string) => registry.digestOf(repository, tag);
    const deployments = new Deployments({ ...deps, mirror, repositories, digestOf, outbox });
    await registry.start();
    const session: SessionDeps = {
      ...identity,
      lockout,
      repositories,
      collaborators,
      links,
      grants: new Grants({ ...identity, repositories, collaborators, links }),
      rates,
      hooks: webhooks.hooks,
      intents: webhooks.intents,
      deliveries: deps.webhooks.deliveries,
      registryLimits: new RegistryLimits({ ...deps, short, told }),
      registry,
      notes: new Notes({ ...deps, mirror, registry }),
      noteIndex: new NoteIndex({ ...deps, mirror, index: deps.textIndex }),
      noteReader: deps.noteReader,
      addresses: new Addresses(deps.baseUrl),
      mirror,
      audit,
      aside: deps.aside ?? (() => []),
      websiteStatus: deps.websiteStatus ?? (() => undefined),
    };
    const context = { ...identity, lockout, clock: deps.clock };
    const accessTokens = new AccessTokens({ mirror, clock: deps.clock, service: new URL(deps.baseUrl).host });
    const entrance = new RegistryEntrance({ ...session, ...context, accessTokens });
    const pages = new Pages({
      signIns: new SignIns({ ...context, ...identity, mirror }),
      clock: deps.clock,
      key,
      session: (caller) => new Session(session, caller),
      images: (caller) => pageImages(session, caller),
    });
    await webhooks.start();
    audit.start();
    const parts = [audit, registry, identity.sweep, webhooks, ...kept, mirror];
    const made = { registry, audit, session, context, identity, entrance, pages, deployments };
    return new Hub({ ...made, kept, parts });
  }

  private constructor(made: {
    registry: Registry;
    audit: AuditTrail;
    session: SessionDeps;
    context: Context;
    identity: Identity;
    entrance: RegistryEntrance;
    pages: Pages;
    deployments: Deployments;
    kept: readonly { keep(): Promise<void> }[];
    parts: readonly Disposable[];
  }) {
    this.registry = made.entrance;
    this.#entrance = made.entrance;
    this.arrivals = made.registry.arrivals;
    this.audit = made.audit;
    this.#kept = made.kept;
    this.#parts = made.parts;
    this.#session = made.session;
    this.#context = made.context;
    this.pages = made.pages;
    this.deployments = made.deployments;
    this.workflowTokens = made.identity.workflowTokens;
  }

  session(credentials: HubCredentials | 'root'): HubSession {
    const caller =
      credentials === 'root' ? ({ kind: 'root' } as const) : authenticate(this.#context, credentials);
    return new Session(this.#session, caller);
  }

  async open(credentials: HubCredentials): Promise<HubSession> {
    const app = await authenticateApp(this.#context, credentials);
    return app === undefined ? this.session(credentials) : new Session(this.#session, app);
  }

  /** Name of the user whose token it is; undefined = of none. Throws unauthorized, also for no token; forbidden. */
  userName(credentials: HubCredentials): string | undefined {
    const caller = authenticate(this.#context, credentials);
    if (caller.kind === 'anonymous') {
      throw new EngineError('unauthorized', 'Requires authentication');
    }
    return caller.kind === 'user' ? caller.user.name : undefined;
  }

  async openForSearch(credentials: HubCredentials): Promise<HubSession> {
    const caller = await this.#entrance.searcher(credentials);
    return caller === undefined ? await this.open(credentials) : new Session(this.#session, caller);
  }

  /** Writes down what was counted of limits and not yet kept: for whoever ends it without haste. Never rejects. */
  async keepCounts(): Promise<void> {
    await Promise.all(this.#kept.map((each) => each.keep()));
  }

  [Symbol.dispose](): void {
    this.#parts.forEach((part) => part[Symbol.dispose]());
  }
}

/** What the records hold, each over the same mirror. */
function domains(
  { records, clock, log, baseUrl, webhooks: settings, news = () => undefined }: HubDeps,
  mirror: Mirror,
  audit: AuditTrail,
) {
  const identity = createIdentity({
    mirror,
    clock,
    log,
    repositories: () => repositories,
    isPlain: baseUrl.startsWith('http:'),
  });
  const { accounts } = identity;
  const collaborators = new Collaborators({
    mirror,
    userUnchanged: ({ name }) => accounts.unchanged(name),
  });
  const repositories: Repositories = new Repositories({
    mirror,
    clock,
    owner: (name) => accounts.find(name) ?? refuseOwner(name),
    ownerUnchanged: (name) => accounts.unchanged(name),
    outbox: audit.over({ intents: (occurrence) => webhooks.intents.intents(occurrence) }),
    removals: (repository) => [...collaborators.removals(repository), ...webhooks.hooks.removals(repository)],
  });
  const webhooks = new Webhooks({
    ...settings,
    mirror,
    records,
    clock,
    log,
    addresses: new Addresses(baseUrl),
    told: (told) => news(newsOf(told, repositories)),
    repositoryUnchanged: ({ id }) => repositories.unchanged(id) ?? refuseRepository(),
  });
  return { identity, repositories, collaborators, webhooks };
}

function newsOf(told: LoopNews, repositories: Repositories): HubNews {
  if (told.kind === 'hook-switched-off') {
    return { ...told, repository: repositories.byId(told.repository) };
  }
  const { hook, event, guid, news } = told.intent;
  const occurrence = news.kind === 'occurrence' ? occurrenceId(news.occurrence) : undefined;
  const { kind, status } = told;
  return { kind, hook, repository: repositoryOf(told.intent, repositories), event, guid, status, occurrence };
}

/** As it was when it happened: there may be very many deliveries that fail, and repositories. */
function repositoryOf({ news, repository }: Intent, repositories: Repositories): Repository | undefined {
  switch (news.kind) {
    case 'occurrence':
      return news.occurrence.repository;
    case 'again':
      return repositories.byId(repository);
    case 'ping':
    case 'hook-deleted':
      return news.repository;
    default:
      return unreachable(news);
  }
}

function refuseRepository(): never {
  throw notFound('Not Found');
}

function refuseOwner(name: string): never {
  throw notFound(`no such user or organization: ${name}`);
}
