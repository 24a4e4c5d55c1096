import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { isHostRefused, parseAllowedHosts } from './deliveries/allowed-hosts.ts';
import { OwnCourier } from './deliveries/attempt.ts';
import { DeliveryLoop } from './deliveries/delivery-loop.ts';
import type { DeliveryLog } from './deliveries/delivery.ts';
import { Intents } from './deliveries/intents.ts';
import type { DeliveryRules } from './deliveries/rules.ts';
import { HttpSender } from './deliveries/sender.ts';
import type { ServicesPort } from './deliveries/services.ts';
import { CourierThread } from './deliveries/thread/courier-thread.ts';
import { Hooks } from './hooks/hooks.ts';
import type { Mirror } from './records/mirror.ts';
import type { RecordChange, Records } from './records/port.ts';
import type { Repository } from './repositories/repository.ts';
import type { Addresses } from './views/addresses.ts';

/** What deliveries of webhooks stand on, and their settings. */
export interface WebhookSettings {
  deliveries: DeliveryLog;
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
}

interface Deps extends WebhookSettings {
  mirror: Mirror;
  records: Records;
  clock: Clock;
  log: Logger;
  addresses: Addresses;
  /** Throws not_found. */
  repositoryUnchanged(repository: Repository): RecordChange;
}

/** Webhooks whole: what they are, what is to be delivered, and the loop that delivers. */
export class Webhooks implements Disposable {
  readonly hooks: Hooks;
  readonly intents: Intents;
  readonly #loop: DeliveryLoop;
  readonly #parts: readonly Disposable[];

  constructor(deps: Deps) {
    const { mirror, clock, log } = deps;
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
      waitingOf: (hook) => this.#loop.waitingOf(hook),
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
    this.#loop = new DeliveryLoop({
      ...deps,
      courier: deps.hasThread === true ? thread : own,
      findHook: (repository, hook) => this.hooks.find(repository, hook),
      switchOff: (repository, hook) => this.hooks.switchOff(repository, hook),
    });
  }

  /** Delivers from now on. Throws what the records throw. */
  start(): Promise<void> {
    return this.#loop.start();
  }

  [Symbol.dispose](): void {
    this.#loop[Symbol.dispose]();
    this.#parts.forEach((part) => part[Symbol.dispose]());
  }
}
