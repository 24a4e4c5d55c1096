import { importPKCS8, SignJWT } from 'jose';
import { pageVisitor } from '../page-visitor.ts';
import type { HubAsk } from '../serve-hub.ts';
import type { servedHub } from '../served-hub.ts';

type Hub = Awaited<ReturnType<typeof servedHub>>;

/** How a caller asks, and for applications a token that it has minted. */
export interface CallerOf {
  ask: Pick<HubAsk, 'headers' | 'isRoot'>;
  own?: { clientId: string; token: string };
}

export type MakeCaller = (hub: Hub) => Promise<CallerOf>;

const showing = (authorization: string): CallerOf => ({ ask: { headers: { Authorization: authorization } } });

export const nobody: MakeCaller = () => Promise.resolve({ ask: {} });

/** Whoever opens the engine's socket. */
export const root: MakeCaller = () => Promise.resolve({ ask: { isRoot: true } });

export const wrong: MakeCaller = () => Promise.resolve(showing('token bhp_wrong'));

export function classic(user: string, ...scopes: string[]): MakeCaller {
  return async (hub) => showing(`token ${await hub.token(user, ...scopes)}`);
}

export function fineGrained(level: string, owner = 'acme'): MakeCaller {
  return async ({ root: { tokens } }) => {
    const { token } = await tokens.create('alice', {
      permissions: { repository_hooks: level },
      resource_owner: owner,
    });
    return showing(`Bearer ${token}`);
  };
}

/** Alice, signed in at the pages: a cookie says so. */
export async function page(hub: Hub): Promise<CallerOf> {
  const password = 'correct horse';
  await hub.root.accounts.setPassword('alice', password);
  const visitor = pageVisitor(hub);
  await visitor.get('/login');
  await visitor.post('/login', { name: 'alice', password, return_to: '/' });
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return { ask: { headers: { Cookie: cookie } } };
}

async function app({ root: { applications } }: Hub, level: string) {
  const permissions = { repository_hooks: level };
  const made = await applications.createApp({ name: 'Bot', owner: 'alice', permissions });
  return { made, installed: await applications.install('bot', 'acme') };
}

export function installation(level: string): MakeCaller {
  return async (hub) => {
    const { made, installed } = await app(hub, level);
    const { body } = await hub.ask('POST', `/app/installations/${installed.id}/access_tokens`, {
      headers: { Authorization: await signed(hub, made) },
    });
    return showing(`Bearer ${String(Object(body).token)}`);
  };
}

export async function appItself(hub: Hub): Promise<CallerOf> {
  const { made } = await app(hub, 'write');
  return showing(await signed(hub, made));
}

/** A token of an app that acts for alice. */
export function appUser(level: string): MakeCaller {
  return async (hub) => {
    const { made } = await app(hub, level);
    const { token } = await hub.root.applications.mint(made.client_id, 'alice', []);
    return showing(`token ${token}`);
  };
}

async function signed({ clock }: Hub, { id, pem }: { id: number; pem: string }): Promise<string> {
  const now = Number(clock.nowNano() / 1_000_000_000n);
  const jwt = new SignJWT({ iss: String(id), iat: now - 60, exp: now + 500 });
  return `Bearer ${await jwt.setProtectedHeader({ alg: 'RS256' }).sign(await importPKCS8(pem, 'RS256'))}`;
}

async function oauthApp({ root: { applications } }: Hub, user: string, scopes: string[]) {
  const made = await applications.createOAuthApp({ name: 'Dash', owner: 'alice' });
  const { token } = await applications.mint(made.client_id, user, scopes);
  return { made, token };
}

export function oauth(user: string, ...scopes: string[]): MakeCaller {
  return async (hub) => showing(`token ${(await oauthApp(hub, user, scopes)).token}`);
}

/** An OAuth application by its client id and secret. */
export async function client(hub: Hub): Promise<CallerOf> {
  const { made, token } = await oauthApp(hub, 'bob', ['repo']);
  const basic = Buffer.from(`${made.client_id}:${made.client_secret}`).toString('base64');
  return { ...showing(`Basic ${basic}`), own: { clientId: made.client_id, token } };
}

export function workflow(permissions: Record<string, 'read' | 'write'>): MakeCaller {
  return async ({ hub, root: { repositories } }) => {
    const { id } = repositories.get('acme', 'open');
    return showing(
      `Bearer ${await hub.workflowTokens.mint(id, { metadata: 'read', ...permissions }, 'task1')}`,
    );
  };
}

/** What alice has granted an OAuth application of acme. */
export function grant(...scopes: string[]): MakeCaller {
  return async (hub) => {
    const { applications, consent } = hub.root.oauth;
    const redirect = 'http://ci.test/back';
    const made = await applications.create('acme', {
      name: 'CI',
      domain: 'http://ci.test',
      redirect_uri: redirect,
      scopes: { organization: scopes },
    });
    const asked = {
      login: 'alice',
      client_id: made.client_id,
      redirect_uri: redirect,
      organizations: ['acme'],
    };
    const { redirect_to: to } = await consent.decideFor(asked);
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code: new URL(to).searchParams.get('code') ?? '',
      redirect_uri: redirect,
      client_id: made.client_id,
      client_secret: made.client_secret,
    });
    const { body } = await hub.ask('POST', '/oauth/token', {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    });
    return showing(`Bearer ${String(Object(body).access_token)}`);
  };
}

/** Acme's own program. */
export function service(...accesses: string[]): MakeCaller {
  return async ({ root: { oauth: platform } }) => {
    const { id, token = '' } = await platform.applications.createServiceToken('acme', { accesses });
    return showing(`${id}:${token}`);
  };
}
