import type { Clock } from '../base/clock.ts';
import { pause } from '../base/concurrency/pause.ts';
import { errorText, invariant } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { isHostRefused, parseAllowedHosts } from './deliveries/allowed-hosts.ts';
import { OwnCourier } from './deliveries/attempt.ts';
import type { Courier } from './deliveries/courier.ts';
import { DeliveryLoop, type LoopNews } from './deliveries/delivery-loop.ts';
import type { DeliveryHistory, DeliveryLog } from './deliveries/delivery.ts';
import { INTENTS, intentsOf, type Waiting } from './deliveries/intent.ts';
import { Intents } from './deliveries/intents.ts';
import type { DeliveryRules } from './deliveries/rules.ts';
import { HttpSender } from './deliveries/sender.ts';
import type { ServicesPort } from './deliveries/services.ts';
import type { Turns } from './deliveries/shared/turn.ts';
import { CourierThread } from './deliveries/thread/courier-thread.ts';
import { Hooks } from './hooks/hooks.ts';
import type { Mirror } from './records/mirror.ts';
import type { RecordChange, Records } from './records/port.ts';
import type { Repository } from './repositories/repository.ts';
import type { Addresses } from './views/addresses.ts';

/** What deliveries of webhooks stand on, and their settings. */
export interface WebhookSettings {
  /** Where deliveries are made in turns, they are written by whoever has the turn. */
  deliveries: DeliveryLog | DeliveryHistory;
  /** `external`, `private`, `loopback`, `*`, networks and names. */
  allowedHosts: readonly string[];
  rules: DeliveryRules;
  hasCompatHeaders: boolean;
  /** Of the engine. */
  version: string;
  /** Undefined = hooks to services of the engine answer that there are none. */
  services: ServicesPort | undefined;
  /** Deliveries are made on a thread of their own; absent = where requests are answered. */
  hasThread?: boolean;
  /** Where others have the same records: when it is this host's turn to deliver. Absent = always. */
  turns?: Turns;
}

interface Deps extends WebhookSettings {
  mirror: Mirror;
  records: Records;
  clock: Clock;
  log: Logger;
  addresses: Addresses;
  /** Told of what does not come to its receivers. */
  told(news: LoopNews): void;
  /** Throws not_found. */
  repositoryUnchanged(repository: Repository): RecordChange;
}

/** Webhooks whole: what they are, what is to be delivered, and the loop that delivers. */
export class Webhooks implements Disposable {
  readonly hooks: Hooks;
  readonly intents: Intents;
  readonly #deps: Deps;
  readonly #courier: Courier;
  readonly #closed = new AbortController();
  /** Undefined while another host delivers. */
  #loop: DeliveryLoop | undefined;
  readonly #parts: readonly Disposable[];

  constructor(deps: Deps) {
    const { mirror, clock, log } = deps;
    this.#deps = deps;
    const allowed = parseAllowedHosts(deps.allowedHosts);
    this.hooks = new Hooks({
      mirror,
      clock,
      isRefused: (hostname) => isHostRefused(allowed, hostname),
      told: (news) => this.intents.told(news),
      repositoryUnchanged: (repository) => deps.repositoryUnchanged(repository),
    });
    this.intents = new Intents({
      mirror,
      clock,
      log,
      hooksOf: (repository) => this.hooks.ofRepository(repository),
      waitingOf: (hook) => this.#waitingOf(hook),
    });
    const sender = new HttpSender(allowed);
    const facts = { version: deps.version, hasCompatHeaders: deps.hasCompatHeaders };
    const own = new OwnCourier({ ...deps, sender, facts });
    const { allowedHosts, addresses } = deps;
    const thread = new CourierThread({
      facts: { ...facts, allowedHosts, baseUrl: addresses.base },
      own,
      clock,
      log,
    });
    this.#parts = [thread, sender];
    this.#courier = deps.hasThread === true ? thread : own;
  }

  /** Delivers from now on, or whenever it is this host's turn. Throws what the records throw. */
  async start(): Promise<void> {
    const { turns, records, deliveries, log } = this.#deps;
    if (turns === undefined) {
      invariant('add' in deliveries, 'a host that always delivers has a log that it writes');
      this.#loop = this.#loopOver(records, deliveries);
      await this.#loop.start();
      return;
    }
    void this.#take(turns).catch((error: unknown) =>
      log.error({ err: error }, 'webhooks are delivered no more'),
    );
  }

  [Symbol.dispose](): void {
    this.#closed.abort();
    this.#loop?.[Symbol.dispose]();
    this.#parts.forEach((part) => part[Symbol.dispose]());
  }

  #loopOver(records: Records, deliveries: DeliveryLog): DeliveryLoop {
    const { mirror } = this.#deps;
    return new DeliveryLoop({
      ...this.#deps,
      records,
      deliveries,
      courier: this.#courier,
      known: (revision) => mirror.known(revision),
      findHook: (repository, hook) => this.hooks.find(repository, hook),
      switchOff: (repository, hook) => this.hooks.switchOff(repository, hook),
      told: (news) => this.#deps.told(news),
    });
  }

  /** One turn after the other, each with a loop that begins with all that is intended. */
  async #take(turns: Turns): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#closed;
    const ended = new Promise<string>((resolve) => {
      signal.addEventListener('abort', () => resolve('the hub ends'));
    });
    while (!signal.aborted) {
      try {
        const turn = await turns.next(signal);
        log.info({}, 'this host delivers webhooks');
        using loop = this.#loopOver(turn.records, turn.deliveries);
        this.#loop = loop;
        try {
          await loop.start();
          const reason = await Promise.race([turn.over, ended]);
          log.info({ reason }, 'this host delivers webhooks no more');
        } finally {
          this.#loop = undefined;
          await turn.end();
        }
      } catch (error) {
        if (!signal.aborted) {
          log.warn({ reason: errorText(error) }, 'this host could not deliver webhooks, it tries again');
        }
      }
      await pause(clock, limits.hubPlaceRetryMs, signal);
    }
  }

  /** While another host delivers, what is intended says it. */
  #waitingOf(hook: number): Waiting {
    if (this.#loop !== undefined) {
      return this.#loop.waitingOf(hook);
    }
    const waiting = { ofHook: 0, inAll: 0 };
    for (const { value } of this.#deps.mirror.below(INTENTS)) {
      const intents = intentsOf(value);
      waiting.ofHook += intents.filter((intent) => intent.hook === hook).length;
      waiting.inAll += intents.length;
    }
    return waiting;
  }
}
