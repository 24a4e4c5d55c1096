import { EngineError } from '../../base/errors.ts';
import type { Caller } from './caller.ts';
import type { Lockout } from './lockout.ts';
import { nameKey } from './names.ts';
import type { Tokens } from './tokens/tokens.ts';

export interface Credentials {
  /** The header `Authorization`; undefined = not sent. */
  authorization: string | undefined;
  /** Where the request comes from. */
  address: string;
}

interface Context {
  tokens: Tokens;
  lockout: Lockout;
}

/** What a header holds: a secret, and the name of who says to have it. */
interface Shown {
  secret: string;
  name: string | undefined;
}

/**
 * Who it is that sends `Bearer TOKEN`, `token TOKEN` or, as `docker login` and curl do, a name with the token in place
 * of the password. Throws unauthorized; forbidden while too many wrong ones have come.
 */
export function authenticate(context: Context, { authorization, address }: Credentials): Caller {
  if (authorization === undefined || authorization.trim() === '') {
    return { kind: 'anonymous', address };
  }
  const { tokens, lockout } = context;
  const shown = readAuthorization(authorization);
  const keys = [`address ${address}`, ...(shown?.name === undefined ? [] : [`user ${nameKey(shown.name)}`])];
  const found = shown && tokens.find(shown.secret);
  const isRight = found !== undefined && isNamed(found.user.name, shown?.name);
  const locks = isRight ? [`user ${nameKey(found.user.name)}`, ...keys] : keys;
  if (locks.some((key) => lockout.isLocked(key))) {
    throw new EngineError('forbidden', 'Maximum number of login attempts exceeded. Please try again later.');
  }
  if (!isRight) {
    keys.forEach((key) => lockout.failed(key));
    throw new EngineError('unauthorized', 'Bad credentials');
  }
  tokens.noteUse(found.token);
  return { kind: 'user', user: found.user, token: found.token };
}

function isNamed(user: string, shown: string | undefined): boolean {
  return shown === undefined || nameKey(shown) === nameKey(user);
}

/** Undefined for what no client sends. */
function readAuthorization(header: string): Shown | undefined {
  const [, scheme = '', value = ''] = /^(\S+) +(\S+)\s*$/.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
    case 'token':
      return { secret: value, name: undefined };
    case 'basic': {
      const text = Buffer.from(value, 'base64').toString('utf8');
      const at = text.indexOf(':');
      return at < 0 ? undefined : { name: text.slice(0, at), secret: text.slice(at + 1) };
    }
    default:
      return undefined;
  }
}
