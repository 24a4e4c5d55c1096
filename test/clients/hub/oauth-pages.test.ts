import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'puppeteer-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { oauthHub } from '../../support/hub/oauth-hub.ts';
import { FACTS, launchBrowser, picture, signIn, submit, tabTo } from '../../support/hub/pages/browser.ts';
import { callbackSite } from '../../support/hub/pages/callback.ts';

const PASSWORD = 'correct horse';
/** One dot. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
});

/** Alice, signed in at a hub, with an application whose site is not the hub. */
async function signedIn() {
  const site = await callbackSite();
  const baseUrl = `http://127.0.0.1:${await freePort()}`;
  const request = {
    domain: site.url,
    redirect_uri: site.redirectUri,
    avatar: PNG.toString('base64'),
    privacy_url: `${site.url}/privacy`,
    terms_url: `${site.url}/terms`,
    scopes: {
      user: ['read_user'],
      organization: ['write_branches'],
      database: ['read_branches'],
      branch: ['write_branch'],
    },
  };
  const hub = await oauthHub(request, undefined, { baseUrl });
  await hub.root.accounts.setPassword('alice', PASSWORD);
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.goto(`${hub.url}/login`);
  await signIn(page, 'alice', PASSWORD);
  const query = new URLSearchParams({ client_id: hub.client.client_id, redirect_uri: site.redirectUri });
  return {
    ...hub,
    site,
    page,
    authorize: `${hub.url}/oauth/authorize?${String(query)}`,
    [Symbol.asyncDispose]: async () => {
      await context.close();
      await hub[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    },
  };
}

const whole = {
  landmarks: [1, 1, 1],
  headings: 1,
  unlabelled: 0,
  cellsWithoutScope: 0,
  tooWide: false,
  title: expect.stringMatching(/· Berth hub$/) as string,
};

test("the pages of consent, of one's own applications and of an organization's", async () => {
  await using hub = await signedIn();
  const { page } = hub;
  await page.goto(hub.authorize, { waitUntil: 'networkidle0' });
  await picture(page, 'oauth-consent');
  expect(await page.evaluate(FACTS)).toEqual({ ...whole, heading: 'Let CI act for you?' });
  await hub.tokenFor('alice', { organizations: ['acme'] });
  await hub.codeFor('alice', { tags: ['acme/open:v1'], scope: 'branch:write_branch' });
  await page.goto(`${hub.url}/settings/applications`, { waitUntil: 'networkidle0' });
  await picture(page, 'oauth-own-applications');
  expect(await page.evaluate(FACTS)).toEqual({ ...whole, heading: 'Applications' });
  const shown = String(await page.evaluate('document.querySelector("main").innerText'));
  expect(shown).toContain('acme: pull and push images: move tags');
  expect(shown).toContain('Not fetched yet');
  await page.goto(`${hub.url}/settings/organizations/acme/applications`, { waitUntil: 'networkidle0' });
  await picture(page, 'oauth-organization');
  expect(await page.evaluate(FACTS)).toEqual({ ...whole, heading: 'OAuth applications of acme' });
  const image = '[...document.images].map((each) => each.complete && each.naturalWidth)';
  expect(await page.evaluate(image)).toEqual([1]);
});

test('an avatar is chosen from the disk in the form of an application, and shown to whom it asks', async () => {
  await using hub = await signedIn();
  const { page } = hub;
  const directory = mkdtempSync(join(tmpdir(), 'berth-test-avatar-'));
  const file = join(directory, 'robot.png');
  writeFileSync(file, PNG);
  await page.goto(`${hub.url}/settings/organizations/acme/applications`);
  for (const [name, text] of [
    ['Name', 'Robot'],
    ['Domain', hub.site.url],
    ['Redirect URI', hub.site.redirectUri],
  ] as const) {
    await tabTo(page, name);
    await page.keyboard.type(text);
  }
  const input = await page.$('input[type=file]');
  // The page has one.
  await (input as unknown as { uploadFile(path: string): Promise<void> }).uploadFile(file);
  await tabTo(page, 'The application shows its users');
  await page.keyboard.press('Space');
  await tabTo(page, 'Make the application');
  await submit(page);
  await picture(page, 'oauth-application-made');
  expect(String(await page.evaluate('document.querySelector("main").innerText'))).toMatch(/bhc_[\w-]+/);
  const robot = hub.root.oauth.applications.list('acme').find(({ name }) => name === 'Robot');
  const got = await hub.ask('GET', new URL(robot?.avatar ?? '').pathname);
  expect([got.status, got.headers['content-type']]).toEqual([200, 'image/png']);
  await tabTo(page, 'New secret: Robot');
  await submit(page);
  expect(String(await page.evaluate('document.querySelector("main").innerText'))).toMatch(/bhc_[\w-]+/);
  rmSync(directory, { recursive: true });
});

test('click-jacking: a browser shows the page of consent in no frame of another site', async () => {
  await using hub = await signedIn();
  const { page, site } = hub;
  site.pages.set('/trap', `<!doctype html><iframe src="${hub.authorize.replaceAll('&', '&amp;')}"></iframe>`);
  const problems: string[] = [];
  page.on('console', (message) => problems.push(message.text()));
  await page.goto(`${site.url}/trap`, { waitUntil: 'networkidle0' });
  const inside = page.frames().find((frame) => frame !== page.mainFrame());
  expect(inside?.url()).toMatch(/^chrome-error:/);
  expect(problems.join()).toMatch(/frame-ancestors|X-Frame-Options/);
});

test('cross-site requests: a form that another site sends by itself lets nobody act', async () => {
  await using hub = await signedIn();
  const { page, site } = hub;
  const fields = { client_id: hub.client.client_id, organization: 'acme', decision: 'allow', mark: 'x' };
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
  site.pages.set(
    '/trap',
    `<!doctype html><form method="post" action="${hub.url}/oauth/authorize">${inputs.join('')}</form>
    <script>document.forms[0].submit()</script>`,
  );
  await page.goto(`${site.url}/trap`, { waitUntil: 'networkidle0' });
  expect(page.url()).toBe(`${hub.url}/oauth/authorize`);
  const shown = String(await page.evaluate('document.querySelector("main").innerText'));
  expect(shown).toContain('This form was sent by another site.');
  await page.goto(`${hub.url}/settings/applications`);
  expect(String(await page.evaluate('document.querySelector("main").innerText'))).toContain(
    'You have let none.',
  );
});

test('stored scripts: a browser runs nothing of what an application or a note says', async () => {
  await using hub = await signedIn();
  const { page } = hub;
  const evil = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
  await hub.root.oauth.applications.create('acme', {
    name: evil,
    domain: hub.site.url,
    redirect_uri: hub.site.redirectUri,
  });
  const note = `---\naliases: ['${evil}']\nsource: "javascript:document.title=1"\n---\n# ${evil}\n\n${evil}\n
[a](javascript:document.title=1) ![b](${hub.site.url}/pixel) [c](data:text/html,<script>1</script>)\n`;
  const { id } = await hub.root.notes.create('acme', 'open', { markdown: note });
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  for (const path of [
    '/settings/organizations/acme/applications',
    '/acme/open',
    `/acme/open/notes/${id}`,
    hub.authorize.slice(hub.url.length),
  ]) {
    await page.goto(hub.url + path, { waitUntil: 'networkidle0' });
    expect(await page.title()).toMatch(/· Berth hub$/);
    const found =
      'document.querySelectorAll("script, main img[src=x], a[href^=javascript], a[href^=data]").length';
    expect(await page.evaluate(found)).toBe(0);
  }
  await picture(page, 'oauth-stored-scripts');
  expect(asked.filter((url) => !url.startsWith(hub.url))).toEqual([]);
});
