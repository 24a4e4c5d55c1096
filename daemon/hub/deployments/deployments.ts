import type { Clock } from '../../base/clock.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Happening, Outbox } from '../occurrences/occurrence.ts';
import { Collection } from '../records/collection.ts';
import { Counters } from '../records/counters.ts';
import type { Decision, Mirror } from '../records/mirror.ts';
import type { RecordChange } from '../records/port.ts';
import type { Repositories } from '../repositories/repositories.ts';
import type { Repository } from '../repositories/repository.ts';
import { newsOf, type DeploymentNews, type KnownDeployment, type ServiceImage } from './deployment-news.ts';

interface Deps {
  mirror: Mirror;
  clock: Clock;
  repositories: Pick<Repositories, 'find' | 'byId' | 'unchanged'>;
  /** Where a tag leads. */
  digestOf(repository: Repository, tag: string): string | undefined;
  outbox: Outbox;
}

/** GitHub: descriptions of a status. */
const DESCRIPTION_MAX = 140;

/** Services that run images of repositories, for those who asked to be told of deployments. */
export class Deployments {
  readonly #deps: Deps;
  readonly #known: Collection<KnownDeployment>;
  readonly #counters: Counters;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#known = new Collection(deps.mirror, 'deployment/');
    this.#counters = new Counters(deps.mirror);
  }

  /**
   * Takes all services that run images of repositories, as they are. What is known already is no news, also where
   * another manager was told it: each change is written on the condition of what was known before.
   */
  async tell(services: readonly ServiceImage[]): Promise<void> {
    const images = new Map(services.map((image) => [image.service, image]));
    for (const service of new Set([...images.keys(), ...this.#services()])) {
      const isNews = (): boolean => this.#decide(service, images.get(service)).changes.length > 0;
      if (isNews()) {
        failpoint('hub.deployment.publish');
        await this.#deps.mirror.change(() => this.#decide(service, images.get(service)));
      }
    }
  }

  #services(): string[] {
    return [...this.#deps.mirror.below('deployment/')].map(({ key }) => key.slice('deployment/'.length));
  }

  #decide(service: string, image: ServiceImage | undefined): Decision<undefined> {
    const known = this.#known.get(service);
    const found = image && this.#found(image);
    const news = newsOf(known, found && image);
    const changes: RecordChange[] = [];
    const told = new Statuses(this.#counters);
    if (news.last !== undefined) {
      const repository = this.#deps.repositories.byId(news.last.of.repository);
      changes.push(...(repository === undefined ? [] : this.#told(repository, told.status(news.last))));
    }
    if (image !== undefined && found !== undefined) {
      changes.push(...this.#now(known, { image, found, news, told }));
    } else if (known !== undefined) {
      changes.push(this.#known.delete(service));
    }
    return { changes: [...changes, ...told.changes()], answer: undefined };
  }

  #now(
    known: KnownDeployment | undefined,
    { image, found, news, told }: { image: ServiceImage; found: Found; news: DeploymentNews; told: Statuses },
  ): RecordChange[] {
    const { repository, digest } = found;
    const { state } = news;
    if (state === undefined) {
      return [];
    }
    const { id, change } = this.#counters.next('deployment');
    const made = { id, service: image.name, digest, tag: image.tag, createdMs: this.#nowMs() };
    const deployment = news.isNew || known === undefined ? made : known.deployment;
    const next = { repository: repository.id, deployment, template: image.template, state };
    const unchanged = this.#deps.repositories.unchanged(repository.id);
    return [
      this.#known.put(image.service, next),
      ...(unchanged === undefined ? [] : [unchanged]),
      ...(news.isNew ? [change, ...this.#told(repository, { kind: 'deployment', deployment })] : []),
      ...this.#told(repository, told.status({ of: next, state, description: image.message })),
    ];
  }

  /** Undefined = the hub has no such repository, or nothing by this tag in it. */
  #found({ owner, repository: name, tag, digest }: ServiceImage): Found | undefined {
    const repository = this.#deps.repositories.find(owner, name);
    const at = digest ?? (repository && this.#deps.digestOf(repository, tag ?? 'latest'));
    return repository === undefined || at === undefined ? undefined : { repository, digest: at };
  }

  #told(repository: Repository, what: Told): readonly RecordChange[] {
    // The union of happenings is taken apart by what is put together here.
    const happening = { ...what, repository } as Happening;
    return this.#deps.outbox.intents({ ...happening, actor: { kind: 'root' }, atMs: this.#nowMs() });
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

interface Found {
  repository: Repository;
  digest: string;
}

type Told =
  | Omit<Extract<Happening, { kind: 'deployment' }>, 'repository'>
  | Omit<Extract<Happening, { kind: 'deployment-status' }>, 'repository'>;

/** Numbers the statuses of one update. */
class Statuses {
  readonly #counters: Counters;
  #last: { id: number; change: RecordChange } | undefined;

  constructor(counters: Counters) {
    this.#counters = counters;
  }

  status({ of, state, description }: NonNullable<DeploymentNews['last']>): Told {
    this.#last = this.#counters.next('deployment-status', this.#last?.id);
    const { id } = this.#last;
    const status = { id, state, description: description.slice(0, DESCRIPTION_MAX) };
    return { kind: 'deployment-status', deployment: of.deployment, status };
  }

  changes(): RecordChange[] {
    return this.#last === undefined ? [] : [this.#last.change];
  }
}
