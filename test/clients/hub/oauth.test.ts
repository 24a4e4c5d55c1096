import { Credentials } from '@distilled.cloud/planetscale/Credentials';
import {
  createOauthToken,
  deleteOauthToken,
  getOauthApplication,
  listOauthTokens,
} from '@distilled.cloud/planetscale/Operations';
import * as Effect from 'effect/Effect';
import * as Redacted from 'effect/Redacted';
import type { HttpClient } from 'effect/unstable/http/HttpClient';
import * as FetchHttpClient from 'effect/unstable/http/FetchHttpClient';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import type { Browser } from 'puppeteer-core';
import { AuthorizationCode } from 'simple-oauth2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { launchBrowser, signIn } from '../../support/hub/pages/browser.ts';
import { callbackSite } from '../../support/hub/pages/callback.ts';
import { oauthHub, SEEDS_ACCESSES } from '../../support/hub/oauth-hub.ts';

const PASSWORD = 'correct horse';
const insecure = { [oauth.allowInsecureRequests]: true } as const;

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
});

/** A hub at an address that libraries reach, an application with a site of its own, and alice with a browser. */
async function visited() {
  const site = await callbackSite();
  const baseUrl = `http://127.0.0.1:${await freePort()}`;
  const request = { domain: site.url, redirect_uri: site.redirectUri };
  const hub = await oauthHub(request, undefined, { baseUrl });
  await hub.root.accounts.setPassword('alice', PASSWORD);
  const context = await browser.createBrowserContext();
  /** Alice signs in, and says `answer` on the page of consent: the address that the browser is sent back to. */
  const consent = async (url: string | URL, answer: 'allow' | 'deny' = 'allow'): Promise<URL> => {
    const page = await context.newPage();
    await page.goto(String(url));
    if (page.url().includes('/login?')) {
      await signIn(page, 'alice', PASSWORD);
    }
    const asked = String(await page.evaluate('document.querySelector("main").innerText'));
    expect(asked).toContain('CI of the organization acme');
    expect(asked).toContain('write_branches');
    await Promise.all([page.waitForNavigation(), page.click(`button[value=${answer}]`)]);
    const back = new URL(page.url());
    await page.close();
    return back;
  };
  const whoIs = async (authorization: string): Promise<unknown> => {
    const { status, body } = await hub.ask('GET', '/user', { headers: { Authorization: authorization } });
    return status === 200 ? (body as { login: string }).login : status;
  };
  return {
    ...hub,
    site,
    consent,
    whoIs,
    redirect: site.redirectUri,
    [Symbol.asyncDispose]: async () => {
      await context.close();
      await hub[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    },
  };
}

/** Shown once, and wrapped against logs. */
function secretOf(text: Redacted.Redacted | null | undefined): string {
  return text === null || text === undefined ? '' : Redacted.value(text);
}

test('simple-oauth2: authorize in a browser, exchange, use, refresh, revoke', async () => {
  await using hub = await visited();
  const client = new AuthorizationCode({
    client: { id: hub.client.client_id, secret: hub.client.client_secret },
    auth: { tokenHost: hub.url },
  });
  const back = await hub.consent(client.authorizeURL({ redirect_uri: hub.redirect, state: 'a b&c' }));
  expect([back.origin + back.pathname, back.searchParams.get('state')]).toEqual([hub.redirect, 'a b&c']);
  const code = back.searchParams.get('code') ?? '';
  const first = await client.getToken({ code, redirect_uri: hub.redirect });
  const bearer = ({ token }: typeof first): string => `Bearer ${String(token['access_token'])}`;
  expect([first.expired(), await hub.whoIs(bearer(first))]).toEqual([false, 'alice']);
  const second = await first.refresh();
  expect([await hub.whoIs(bearer(first)), await hub.whoIs(bearer(second))]).toEqual([401, 'alice']);
  await second.revokeAll();
  expect(await hub.whoIs(bearer(second))).toBe(401);
  await expect(client.getToken({ code, redirect_uri: hub.redirect })).rejects.toThrow(/400|Bad Request/);
});

test('oauth4webapi: discovery, PKCE, who answers, exchange, refresh, revoke', async () => {
  await using hub = await visited();
  const issuer = new URL(hub.url);
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
  const server = await oauth.processDiscoveryResponse(issuer, found);
  const client = { client_id: hub.client.client_id };
  const secret = oauth.ClientSecretBasic(hub.client.client_secret);
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
  const url = new URL(server.authorization_endpoint ?? '');
  url.search = new URLSearchParams({
    ...client,
    redirect_uri: hub.redirect,
    response_type: 'code',
    state,
    scope: 'user:read_user organization:write_branches',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString();
  const back = await hub.consent(url);
  const answer = oauth.validateAuthResponse(server, client, back, state);
  const given = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    secret,
    answer,
    hub.redirect,
    verifier,
    insecure,
  );
  const first = await oauth.processAuthorizationCodeResponse(server, client, given);
  expect(first).toMatchObject({
    token_type: 'bearer',
    expires_in: 2_592_000,
    scope: 'user:read_user organization:write_branches',
  });
  const user = new URL('/user', hub.url);
  const used = await oauth.protectedResourceRequest(
    first.access_token,
    'GET',
    user,
    undefined,
    undefined,
    insecure,
  );
  expect(await used.json()).toMatchObject({ login: 'alice' });
  const refreshed = await oauth.refreshTokenGrantRequest(
    server,
    client,
    secret,
    first.refresh_token ?? '',
    insecure,
  );
  const second = await oauth.processRefreshTokenResponse(server, client, refreshed);
  expect(await hub.whoIs(`Bearer ${second.access_token}`)).toBe('alice');
  const revoked = await oauth.revocationRequest(server, client, secret, second.refresh_token ?? '', insecure);
  await oauth.processRevocationResponse(revoked);
  expect(await hub.whoIs(`Bearer ${second.access_token}`)).toBe(401);
});

test('mix-up: a library refuses an answer that names another server, or none', async () => {
  await using hub = await visited();
  const issuer = new URL(hub.url);
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
  const server = await oauth.processDiscoveryResponse(issuer, found);
  const client = { client_id: hub.client.client_id };
  const url = new URL(server.authorization_endpoint ?? '');
  url.search = new URLSearchParams({ ...client, redirect_uri: hub.redirect, state: 's' }).toString();
  const back = await hub.consent(url);
  expect(oauth.validateAuthResponse(server, client, back, 's').get('code')).toMatch(/^bhd_/);
  const other = { ...server, issuer: 'http://127.0.0.1:1' };
  expect(() => oauth.validateAuthResponse(other, client, back, 's')).toThrow(/iss/);
  back.searchParams.delete('iss');
  expect(() => oauth.validateAuthResponse(server, client, back, 's')).toThrow(/iss/);
});

test('openid-client: discovery, PKCE, state, exchange, refresh, revoke; a denial is an error', async () => {
  await using hub = await visited();
  const config = await openid.discovery(
    new URL(hub.url),
    hub.client.client_id,
    hub.client.client_secret,
    undefined,
    { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
  );
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const parameters = {
    redirect_uri: hub.redirect,
    state: expectedState,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  };
  const checks = { pkceCodeVerifier, expectedState };
  const denied = await hub.consent(openid.buildAuthorizationUrl(config, parameters), 'deny');
  await expect(openid.authorizationCodeGrant(config, denied, checks)).rejects.toMatchObject({
    error: 'access_denied',
  });
  const back = await hub.consent(openid.buildAuthorizationUrl(config, parameters));
  await expect(
    openid.authorizationCodeGrant(config, back, { ...checks, expectedState: 'other' }),
  ).rejects.toThrow();
  const first = await openid.authorizationCodeGrant(config, back, checks);
  const user = new URL('/user', hub.url);
  const used = await openid.fetchProtectedResource(config, first.access_token, user, 'GET');
  expect(await used.json()).toMatchObject({ login: 'alice' });
  const second = await openid.refreshTokenGrant(config, first.refresh_token ?? '');
  expect(await hub.whoIs(`Bearer ${second.access_token}`)).toBe('alice');
  await openid.tokenRevocation(config, second.refresh_token ?? '');
  expect(await hub.whoIs(`Bearer ${second.access_token}`)).toBe(401);
});

test("@distilled.cloud/planetscale: the seed's path with a service token, exchange, refresh, tokens", async () => {
  await using hub = await visited();
  const accesses = [...SEEDS_ACCESSES, 'delete_oauth_tokens'];
  const service = await hub.root.oauth.applications.createServiceToken('acme', { accesses });
  const credentials = Effect.succeed({
    tokenId: Redacted.make(service.id),
    token: Redacted.make(service.token ?? ''),
    organization: 'acme',
    apiBaseUrl: `${hub.url}/v1`,
  });
  const run = <A, E>(operation: Effect.Effect<A, E, Credentials | HttpClient>): Promise<A> =>
    Effect.runPromise(
      operation.pipe(Effect.provideService(Credentials, credentials), Effect.provide(FetchHttpClient.layer)),
    );
  const query = new URLSearchParams({ client_id: hub.client.client_id, redirect_uri: hub.redirect });
  const back = await hub.consent(`${hub.url}/oauth/authorize?${String(query)}`);
  const of = { organization: 'acme', id: hub.application.id };
  const asked = { ...of, ...hub.client };
  const first = await run(
    createOauthToken({
      ...asked,
      grant_type: 'authorization_code',
      code: back.searchParams.get('code') ?? '',
      redirect_uri: hub.redirect,
    }),
  );
  expect(first).toMatchObject({ display_name: 'CI', actor_display_name: 'alice', actor_type: 'User' });
  expect(await hub.whoIs(`${first.id}:${secretOf(first.token)}`)).toBe('alice');
  const second = await run(
    createOauthToken({
      ...asked,
      grant_type: 'refresh_token',
      refresh_token: secretOf(first.plain_text_refresh_token),
    }),
  );
  expect(await hub.whoIs(`${second.id}:${secretOf(second.token)}`)).toBe('alice');
  expect(await run(getOauthApplication({ organization: 'acme', application_id: of.id }))).toMatchObject({
    id: of.id,
    tokens: 1,
    name: 'CI',
  });
  const listed = await run(listOauthTokens({ organization: 'acme', application_id: of.id }));
  expect(listed.data).toMatchObject([{ id: second.id }]);
  await run(deleteOauthToken({ organization: 'acme', application_id: of.id, token_id: second.id }));
  expect(await hub.whoIs(`${second.id}:${secretOf(second.token)}`)).toBe(401);
  const refused = run(createOauthToken({ ...asked, id: 'aaaaaaaaaaaa', grant_type: 'authorization_code' }));
  await expect(refused).rejects.toMatchObject({ _tag: 'NotFound' });
});
