import type { Clock } from '../../../base/clock.ts';
import { EngineError } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import { Collection } from '../../records/collection.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import type { User } from '../account.ts';
import type { Accounts } from '../accounts.ts';
import type { Lockout } from '../lockout.ts';
import { nameKey } from '../names.ts';
import { isPassword } from '../password.ts';
import { hashSecret, newSecret } from '../tokens/secret.ts';
import type { Owner } from '../tokens/token.ts';

export interface SignInsDeps {
  mirror: Mirror;
  clock: Clock;
  accounts: Accounts;
  lockout: Lockout;
}

/** Somebody who is signed in at the pages. Records `sign-in/<SHA-256 of the secret>`. */
interface SignIn {
  hash: string;
  user: Owner;
  /** Of the user's password as it is stored: another one ends it. */
  password: string;
  /** Its secret is given another one for, now and then. */
  renewedMs: number;
  expiresMs: number;
}

/** Signing in with a name and a password, by a secret that a cookie holds. */
export class SignIns {
  readonly #deps: SignInsDeps;
  readonly #signIns: Collection<SignIn>;

  constructor(deps: SignInsDeps) {
    this.#deps = deps;
    this.#signIns = new Collection(deps.mirror, 'sign-in/');
  }

  /** The secret, always a new one. Throws unauthorized; forbidden while too many wrong ones have come. */
  async signIn(shown: { name: string; password: string; address: string }): Promise<string> {
    const { accounts, lockout } = this.#deps;
    const keys = [`address ${shown.address}`, `user ${nameKey(shown.name)}`];
    refuseLocked(lockout, keys);
    const account = accounts.find(shown.name);
    const stored = account?.kind === 'user' ? account.password : null;
    // Counted before it is looked at: of many at a time no more are let through than one after another.
    keys.forEach((key) => lockout.failed(key));
    const isRight = await isPassword(shown.password.slice(0, limits.hubPasswordBytesMax), stored);
    if (!isRight || account?.kind !== 'user') {
      throw new EngineError('unauthorized', 'Incorrect name or password.');
    }
    keys.forEach((key) => lockout.succeeded(key));
    const nowMs = this.#nowMs();
    return this.#add(account, nowMs + limits.hubSignInMs, () => []);
  }

  /** Undefined = nobody, or no more. */
  find(secret: string): User | undefined {
    return this.#living(hashSecret(secret))?.user;
  }

  /** Ends it, and what is over beside it. */
  signOut(secret: string): Promise<void> {
    return this.#deps.mirror.change(() => ({
      changes: [this.#signIns.delete(hashSecret(secret))],
      answer: undefined,
    }));
  }

  /**
   * Another secret in place of one that is old, which serves a little longer for requests that are under way. Undefined
   * = it is not old, or nobody's.
   */
  async renew(secret: string): Promise<{ secret: string; expiresMs: number } | undefined> {
    const hash = hashSecret(secret);
    const found = this.#living(hash);
    const nowMs = this.#nowMs();
    const untilMs = nowMs + limits.hubSignInGraceMs;
    if (found === undefined || nowMs - found.signIn.renewedMs < limits.hubSignInRenewMs) {
      return undefined;
    }
    const { expiresMs } = found.signIn;
    const fresh = await this.#add(found.user, expiresMs, () => {
      const current = this.#signIns.get(hash);
      const ending = current && { ...current, renewedMs: nowMs, expiresMs: Math.min(untilMs, expiresMs) };
      return ending === undefined ? [] : [this.#signIns.put(hash, ending)];
    });
    return { secret: fresh, expiresMs };
  }

  async #add(user: User, expiresMs: number, beside: () => readonly RecordChange[]): Promise<string> {
    const secret = newSecret('session');
    const hash = hashSecret(secret);
    await this.#deps.mirror.change(() => {
      const signIn: SignIn = {
        hash,
        user: { name: user.name, id: user.id },
        password: hashSecret(user.password ?? ''),
        renewedMs: this.#nowMs(),
        expiresMs,
      };
      const changed = beside();
      const keys = new Set(changed.map(({ key }) => key));
      failpoint('hub.sign-in.add');
      return {
        changes: [
          this.#signIns.put(hash, signIn),
          ...changed,
          ...this.#over(user).filter(({ key }) => !keys.has(key)),
        ],
        answer: undefined,
      };
    });
    return secret;
  }

  /** Those that have ended, and the oldest of a user who has too many. */
  #over(user: User): RecordChange[] {
    const nowMs = this.#nowMs();
    const all = this.#signIns.all();
    const ended = all.filter(({ expiresMs }) => expiresMs <= nowMs);
    const living = all
      .filter((each) => each.expiresMs > nowMs && each.user.id === user.id)
      .toSorted((one, other) => one.renewedMs - other.renewedMs);
    const many = living.slice(0, Math.max(0, living.length + 1 - limits.hubSignInsOfUserMax));
    return [...ended, ...many]
      .slice(0, limits.hubChangesAtOnce)
      .map(({ hash }) => this.#signIns.delete(hash));
  }

  #living(hash: string): { signIn: SignIn; user: User } | undefined {
    const signIn = this.#signIns.get(hash);
    const user = signIn && this.#deps.accounts.same(signIn.user.name, signIn.user.id);
    const isGood =
      signIn !== undefined &&
      user?.kind === 'user' &&
      signIn.expiresMs > this.#nowMs() &&
      signIn.password === hashSecret(user.password ?? '');
    return isGood ? { signIn, user } : undefined;
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

function refuseLocked(lockout: Lockout, keys: readonly string[]): void {
  if (keys.some((key) => lockout.isLocked(key))) {
    throw new EngineError('forbidden', 'Maximum number of login attempts exceeded. Please try again later.');
  }
}
