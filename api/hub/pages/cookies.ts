import type { Context } from 'koa';

/** What the pages keep at a browser. Scripts cannot read them, and requests that other sites send do not bring them. */
export const COOKIES = { session: 'berth_session', form: 'berth_form' } as const;

/** Undefined = not sent. */
export function readCookie(ctx: Context, name: string): string | undefined {
  for (const pair of ctx.get('Cookie').split(';')) {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    if (key === name && /^[\w-]{1,128}$/.test(value)) {
      return value;
    }
  }
  return undefined;
}

/** `lifetimeS`: 0 takes it away, undefined = until the browser closes. */
export function setCookie(
  ctx: Context,
  {
    name,
    value,
    lifetimeS,
    isSecure,
  }: { name: string; value: string; lifetimeS?: number; isSecure: boolean },
): void {
  const parts = [
    `${name}=${value}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure ? ['Secure'] : []),
    ...(lifetimeS === undefined ? [] : [`Max-Age=${lifetimeS}`]),
  ];
  ctx.append('Set-Cookie', parts.join('; '));
}
