import { EngineError } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { looksLikeJwt, verifyAppJwt } from './apps/app-jwt.ts';
import type { Apps } from './apps/apps.ts';
import { readClientId } from './apps/client-id.ts';
import { userOf, type Caller } from './caller.ts';
import type { Holders } from './holders.ts';
import type { Lockout } from './lockout.ts';
import { nameKey } from './names.ts';
import type { Token } from './tokens/token.ts';
import type { Tokens } from './tokens/tokens.ts';

export interface Credentials {
  /** The header `Authorization`; undefined = not sent. */
  authorization: string | undefined;
  /** Where the request comes from. */
  address: string;
}

export interface Context {
  tokens: Tokens;
  holders: Holders;
  apps: Apps;
  lockout: Lockout;
  clock: Clock;
}

/** What a header holds: a secret, and the name of who says to have it. */
interface Shown {
  scheme: 'bearer' | 'token' | 'basic' | 'pair';
  secret: string;
  name: string | undefined;
}

/**
 * Who it is that sends `Bearer TOKEN`, `token TOKEN`, or a name with a secret: a client id with its secret, or, as
 * `docker login` and curl do, a name with the token in place of the password; or `ID:TOKEN` (seed 002 A). Throws
 * unauthorized, also for JSON web
 * tokens (see `authenticateApp`); forbidden while too many wrong ones have come.
 */
export function authenticate(context: Context, { authorization, address }: Credentials): Caller {
  if (authorization === undefined || authorization.trim() === '') {
    return { kind: 'anonymous', address };
  }
  const shown = readAuthorization(authorization);
  const found = shown && holderOf(context, shown);
  const user = found && userOf(found.caller);
  const keys = [`address ${address}`, ...(shown?.name === undefined ? [] : [`user ${nameKey(shown.name)}`])];
  refuseLocked(context, user === undefined ? keys : [`user ${nameKey(user.name)}`, ...keys]);
  if (found === undefined) {
    keys.forEach((key) => context.lockout.failed(key));
    throw new EngineError('unauthorized', 'Bad credentials');
  }
  if (found.token !== undefined) {
    context.tokens.noteUse(found.token);
  }
  return found.caller;
}

/** The app that sends a JSON web token by `Bearer`; undefined = none is sent. Throws unauthorized, forbidden. */
export async function authenticateApp(
  context: Context,
  { authorization, address }: Credentials,
): Promise<Caller | undefined> {
  const shown = readAuthorization(authorization ?? '');
  if (shown?.scheme !== 'bearer' || !looksLikeJwt(shown.secret)) {
    return undefined;
  }
  refuseLocked(context, [`address ${address}`]);
  try {
    const nowMs = Number(context.clock.nowNano() / 1_000_000n);
    return { kind: 'app', app: await verifyAppJwt(context.apps, shown.secret, nowMs) };
  } catch (error) {
    context.lockout.failed(`address ${address}`);
    throw error;
  }
}

function refuseLocked({ lockout }: Context, keys: readonly string[]): void {
  if (keys.some((key) => lockout.isLocked(key))) {
    throw new EngineError('forbidden', 'Maximum number of login attempts exceeded. Please try again later.');
  }
}

/** Undefined for what is nobody's. */
function holderOf({ tokens, holders, apps }: Context, { scheme, name, secret }: Shown) {
  if (name !== undefined && readClientId(name) !== undefined) {
    const application = apps.byClientSecret(name, secret);
    return application && { caller: { kind: 'client', application } as const, token: undefined };
  }
  const token = tokens.find(secret);
  const caller = token && holders.callerOf(token);
  if (token === undefined || caller === undefined) {
    return undefined;
  }
  const isRight = scheme === 'pair' ? idOf(token) === name : isNamed(caller, name);
  return isRight ? { caller, token } : undefined;
}

/** What a token is known by. */
function idOf(token: Token): string {
  return 'publicId' in token ? token.publicId : String(token.id);
}

/**
 * Tokens of users go with their names only, or their own ids; those of apps and tasks with any name, as nobody is
 * behind them.
 */
function isNamed(caller: Caller, shown: string | undefined): boolean {
  const user = userOf(caller);
  if (shown !== undefined && caller.kind === 'delegate' && shown === caller.token.publicId) {
    return true;
  }
  return shown === undefined || (user === undefined ? shown !== '' : nameKey(shown) === nameKey(user.name));
}

/** Undefined for what no client sends. */
function readAuthorization(header: string): Shown | undefined {
  const [, id, token] = /^\s*([\w-]{1,64}):(\S+)\s*$/.exec(header) ?? [];
  if (id !== undefined && token !== undefined) {
    return { scheme: 'pair', secret: token, name: id };
  }
  const [, scheme = '', value = ''] = /^(\S+) +(\S+)\s*$/.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
    case 'token':
      return {
        scheme: scheme.toLowerCase() === 'bearer' ? 'bearer' : 'token',
        secret: value,
        name: undefined,
      };
    case 'basic': {
      const text = Buffer.from(value, 'base64').toString('utf8');
      const at = text.indexOf(':');
      return at < 0 ? undefined : { scheme: 'basic', name: text.slice(0, at), secret: text.slice(at + 1) };
    }
    default:
      return undefined;
  }
}
