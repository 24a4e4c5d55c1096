import { type Browser } from 'puppeteer-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  FACTS,
  FOCUSED,
  launchBrowser,
  picture,
  signIn,
  submit,
  tabTo,
  TOO_WIDE,
} from '../../support/hub/pages/browser.ts';
import { withFakes } from '../../support/hub/fake-pages.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { servedHub } from '../../support/hub/served-hub.ts';

const PASSWORD = 'correct horse';

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
});

async function visit() {
  const hub = await servedHub(
    { anonymousPerHour: 0 },
    new ManualClock(BigInt(Date.now()) * 1_000_000n),
    (pages) => withFakes(pages),
  );
  await hub.root.accounts.setPassword('alice', PASSWORD);
  await hub.root.repositories.edit('acme', 'open', { description: 'The public <b>image</b>' });
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  /** Requests to elsewhere, violations of the policy, errors of the page. */
  const wrong: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== hub.url) {
      wrong.push(`request to ${request.url()}`);
    }
  });
  page.on('console', (message) => {
    // Answers that are errors on purpose.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      wrong.push(message.text());
    }
  });
  page.on('pageerror', (error) => wrong.push(String(error)));
  return {
    ...hub,
    page,
    wrong,
    go: (path: string) => page.goto(hub.url + path, { waitUntil: 'networkidle0' }),
    [Symbol.asyncDispose]: async () => {
      await context.close();
      await hub[Symbol.asyncDispose]();
    },
  };
}

test('by keys alone: sign in, make a token, revoke it, sign out', async () => {
  await using at = await visit();
  const { page, go, root, wrong } = at;
  await go('/settings/tokens');
  expect(page.url()).toContain('/login?return_to=');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(FOCUSED)).toBe('Skip to content');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.id')).toBe('content');
  await signIn(page, 'alice', PASSWORD);
  expect(new URL(page.url()).pathname).toBe('/settings/tokens');
  await tabTo(page, 'Note');
  const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
  expect(outline).toBe('solid');
  await page.keyboard.type('laptop');
  await tabTo(page, 'repo');
  await page.keyboard.press('Space');
  await tabTo(page, 'Make the token');
  await submit(page);
  const token = await page.evaluate(`document.querySelector('[aria-label="The new token"]').textContent`);
  expect(token).toMatch(/^bhp_/);
  await picture(page, 'token-made');
  expect(root.tokens.list('alice')).toMatchObject([{ note: 'laptop', scopes: ['repo'] }]);
  await tabTo(page, 'Revoke token laptop');
  await submit(page);
  expect(root.tokens.list('alice')).toEqual([]);
  await tabTo(page, 'Sign out');
  await submit(page);
  expect(new URL(page.url()).pathname).toBe('/login');
  await go('/settings/tokens');
  expect(page.url()).toContain('/login');
  expect(wrong).toEqual([]);
});

const HOOKS = '/acme/open/settings/hooks';

test.each([
  ['repositories', '/', 'Repositories', ['acme/open', 'acme/secret', 'alice/open', 'alice/secret']],
  ['account', '/acme', 'acme', ['acme/open', 'acme/secret']],
  [
    'repository',
    '/acme/open',
    'acme/open public',
    ['Tag', 'Digest', 'Platforms', 'Size', 'Pushed', 'latest'],
  ],
  ['repository-empty', '/alice/empty', 'alice/empty public', []],
  ['hooks', HOOKS, 'Webhooks of acme/open', ['https://ci.example/hook']],
  ['hook', `${HOOKS}/7`, 'Webhook 7', ['Recent deliveries', 'Event', 'Result']],
  ['delivery', `${HOOKS}/7/deliveries/12`, 'Delivery 0f9c2a3e', ['Deliver again', 'Payload of the request']],
  ['tokens', '/settings/tokens', 'Tokens', ['Note', 'Scopes', 'Expires', 'Make the token']],
  [
    'limits',
    '/settings/limits',
    'Limits',
    ['Requests of an hour', 'Pulls of a minute', 'Limit', 'Used', 'Left'],
  ],
  ['docs', '/docs', 'The interface', ['Errors', 'Operations', 'GET /repos/:owner/:repo/hooks']],
  ['not-found', '/nobody/nothing', 'Not found', []],
])('%s: landmarks, names, headings; nothing from elsewhere', async (name, path, heading, names) => {
  await using at = await visit();
  const { page, go, root, wrong } = at;
  await root.repositories.createFor('alice', { name: 'empty' });
  await root.tokens.create('alice', { scopes: ['repo'], note: 'ci' });
  await go('/login');
  if (name === 'repositories') {
    await picture(page, 'sign-in');
  }
  await signIn(page, 'alice', PASSWORD);
  await go(path);
  await picture(page, name);
  const tree = JSON.stringify(await page.accessibility.snapshot({ interestingOnly: false }));
  const found = await page.evaluate(FACTS);
  expect(found).toEqual({
    landmarks: [1, 1, 1],
    headings: 1,
    heading: expect.stringMatching(new RegExp(`^${heading}`)),
    unlabelled: 0,
    cellsWithoutScope: 0,
    tooWide: false,
    title: expect.stringMatching(/· Berth hub$/),
  });
  for (const each of names) {
    expect(tree).toContain(each);
  }
  expect(wrong).toEqual([]);
});

test('dark where the browser asks for it, and narrow on a phone', async () => {
  await using at = await visit();
  const { page, go, wrong } = at;
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  await page.setViewport({ width: 390, height: 844 });
  await go('/login');
  await signIn(page, 'alice', PASSWORD);
  for (const [name, path] of [
    ['dark-repository', '/acme/open'],
    ['dark-tokens', '/settings/tokens'],
  ] as const) {
    await go(path);
    await picture(page, name);
    const paper = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    const tooWide = await page.evaluate(TOO_WIDE);
    expect([paper, tooWide]).toEqual(['rgb(13, 17, 23)', false]);
  }
  expect(wrong).toEqual([]);
});

test('the page of single sign-on authorizes a token', async () => {
  await using at = await visit();
  const { page, go, root, wrong } = at;
  await root.accounts.configureOrganization('acme', { single_sign_on: true });
  const { token } = await root.tokens.create('alice', { scopes: ['repo'], note: 'ci' });
  const { headers } = await at.ask('GET', '/repos/acme/secret', { token });
  const path = String(headers['x-svc-sso']).replace('required; url=http://hub.test:5010', '');
  await go(path);
  await signIn(page, 'alice', PASSWORD);
  await picture(page, 'sign-on');
  await tabTo(page, 'Authorize the token');
  await submit(page);
  expect((await at.ask('GET', '/repos/acme/secret', { token })).status).toBe(200);
  expect(wrong).toEqual([]);
});
