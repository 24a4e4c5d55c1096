import { afterEach, beforeEach, expect, test } from 'vitest';
import { diskFull } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { oauthHub } from '../../support/hub/oauth-hub.ts';
import { pageVisitor, type PageVisitor } from '../../support/hub/page-visitor.ts';

/** Tokens and pages where the disk takes nothing more. */

const PASSWORD = 'a good password';
const NO_SPACE = 'no space left on the disk of the hub';
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

let clock: ManualClock;
let hub: Awaited<ReturnType<typeof oauthHub>>;
let isFull: boolean;
let visitor: PageVisitor;

beforeEach(async () => {
  isFull = false;
  clock = new ManualClock();
  const look = (): void => {
    if (isFull) {
      throw diskFull(NO_SPACE);
    }
  };
  hub = await oauthHub({}, clock, { room: { look } });
  await hub.root.accounts.setPassword('alice', PASSWORD);
  visitor = pageVisitor(hub);
});
afterEach(() => hub[Symbol.asyncDispose]());

const tokenBy = (fields: Record<string, string>) =>
  hub.ask('POST', '/oauth/token', {
    headers: FORM,
    body: new URLSearchParams({ ...hub.client, ...fields }).toString(),
  });

const signIn = async () => {
  await visitor.get('/login');
  return await visitor.post('/login', { name: 'alice', password: PASSWORD, return_to: '/' });
};

const FULL = {
  status: 507,
  body: { error: 'temporarily_unavailable', error_description: NO_SPACE },
};

test('/oauth/token says that it cannot now; the code is good later, and who has a token goes on', async () => {
  const redirect = { redirect_uri: hub.application.redirect_uri };
  const code = { grant_type: 'authorization_code', code: await hub.codeFor('alice', redirect), ...redirect };
  isFull = true;
  expect(await tokenBy(code)).toMatchObject(FULL);
  isFull = false;
  const given = await tokenBy(code);
  expect(given.status).toBe(200);
  // As RFC 6749 says, 5.1.
  const { access_token: token, refresh_token: refresh } = given.body as Record<string, string>;
  const again = { grant_type: 'refresh_token', refresh_token: refresh ?? '' };
  isFull = true;
  expect((await hub.ask('GET', '/user', { token: token ?? '' })).status).toBe(200);
  // Which takes the place of the one before: it needs no room.
  expect((await tokenBy(again)).status).toBe(200);
});

test('pages are shown, also where a sign-in is to be renewed; forms get a page with 507', async () => {
  expect((await signIn()).status).toBe(303);
  const session = new Map(visitor.cookies);
  clock.setWall(limits.hubSignInRenewMs + 1);
  isFull = true;
  for (const path of ['/', '/alice/open', '/settings/tokens', '/settings/applications']) {
    expect([path, (await visitor.get(path)).status]).toEqual([path, 200]);
  }
  expect(visitor.cookies).toEqual(session);
  await visitor.get('/settings/tokens');
  const refused = await visitor.post('/settings/tokens', { note: 'ci', scope: 'repo', expires: '' });
  expect(refused.status).toBe(507);
  expect(refused.text).toContain('<h1>The disk of the hub is full</h1>');
  expect(refused.text).toContain(NO_SPACE);
  // Who leaves is not kept.
  expect((await visitor.post('/logout', {})).status).toBe(303);
  visitor.cookies = session;
  expect((await visitor.get('/settings/tokens')).text).not.toContain('name="note"');
  const other = await signIn();
  expect([other.status, other.text.includes('The disk of the hub is full')]).toEqual([507, true]);
  isFull = false;
  expect((await signIn()).status).toBe(303);
});
