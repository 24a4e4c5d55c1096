import type { HubCredentials, HubPort, HubSession } from '../../api/types/hub/ports.ts';
import type { Clock } from '../base/clock.ts';
import { notFound } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { Accounts } from './identity/accounts.ts';
import { authenticate } from './identity/authenticate.ts';
import { Lockout } from './identity/lockout.ts';
import { Tokens } from './identity/tokens/tokens.ts';
import { KeptLimits } from './limits/kept-limits.ts';
import { RateLimits } from './limits/rate-limits.ts';
import type { RateRules } from './limits/rules.ts';
import { NO_OUTBOX } from './occurrences/occurrence.ts';
import { Mirror } from './records/mirror.ts';
import type { Records } from './records/port.ts';
import { Collaborators } from './repositories/collaborators.ts';
import { Repositories } from './repositories/repositories.ts';
import { Grants } from './session/grants.ts';
import { Session } from './session/session.ts';
import type { SessionDeps } from './session/session-deps.ts';
import { Addresses } from './views/addresses.ts';

export interface HubDeps {
  records: Records;
  clock: Clock;
  log: Logger;
  /** Where clients find it: `http://127.0.0.1:5010`, without a slash at its end. */
  baseUrl: string;
  rules: RateRules;
}

/** The hub: repositories, those who own them, and what each may do. Its state is in the records. */
export class Hub implements HubPort, Disposable {
  readonly #mirror: Mirror;
  readonly #session: SessionDeps;
  readonly #lockout: Lockout;
  readonly #kept: KeptLimits;

  /** Reads the records. */
  static async open(deps: HubDeps): Promise<Hub> {
    const rates = new RateLimits({ rules: deps.rules, clock: deps.clock });
    const kept = await KeptLimits.open({ ...deps, rates });
    return new Hub(deps, { mirror: await Mirror.open(deps, ''), rates, kept });
  }

  private constructor(
    { clock, log, baseUrl }: HubDeps,
    { mirror, rates, kept }: { mirror: Mirror; rates: RateLimits; kept: KeptLimits },
  ) {
    this.#mirror = mirror;
    this.#kept = kept;
    this.#lockout = new Lockout(clock);
    const accounts: Accounts = new Accounts({
      mirror,
      clock,
      repositoriesOf: (account) => repositories.ofOwner(account).length,
    });
    const repositories = new Repositories({
      mirror,
      clock,
      owner: (name) => accounts.find(name) ?? refuseOwner(name),
      ownerUnchanged: (name) => accounts.unchanged(name),
      outbox: NO_OUTBOX,
      removals: (repository) => collaborators.removals(repository),
    });
    const collaborators = new Collaborators({
      mirror,
      userUnchanged: ({ name }) => accounts.unchanged(name),
    });
    const tokens = new Tokens({
      mirror,
      clock,
      log,
      accounts,
      repositoryId: (owner, name) => repositories.find(owner, name)?.id,
    });
    this.#session = {
      accounts,
      repositories,
      collaborators,
      grants: new Grants({ accounts, repositories, collaborators }),
      tokens,
      rates,
      addresses: new Addresses(baseUrl),
    };
  }

  session(credentials: HubCredentials | 'root'): HubSession {
    const caller =
      credentials === 'root'
        ? ({ kind: 'root' } as const)
        : authenticate({ tokens: this.#session.tokens, lockout: this.#lockout }, credentials);
    return new Session(this.#session, caller);
  }

  [Symbol.dispose](): void {
    this.#kept[Symbol.dispose]();
    this.#mirror[Symbol.dispose]();
  }
}

function refuseOwner(name: string): never {
  throw notFound(`no such user or organization: ${name}`);
}
