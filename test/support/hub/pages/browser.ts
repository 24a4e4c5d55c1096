import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch, type Browser, type Page } from 'puppeteer-core';

/** Where to leave a picture of each page; none by default. */
const PICTURES = process.env['BERTH_TEST_PICTURES'];

// Run by the browser, whose objects the tests do not know the types of.

/** What a screen reader calls the element that has the focus. */
export const FOCUSED = `(() => {
  const element = document.activeElement;
  const label = element.id ? document.querySelector('label[for="' + element.id + '"]') : null;
  const name = element.getAttribute('aria-label') ?? label?.textContent ?? element.textContent;
  return name.replaceAll(/\\s+/g, ' ').trim();
})()`;

export const TOO_WIDE = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';

/** What the structure of a page is judged by. */
export const FACTS = `({
  landmarks: ['header', 'nav[aria-label="Main"]', 'main'].map((each) => document.querySelectorAll(each).length),
  headings: document.querySelectorAll('h1').length,
  heading: document.querySelector('h1').textContent.replaceAll(/\\s+/g, ' ').trim(),
  unlabelled: [...document.querySelectorAll('input:not([type=hidden]),select')].filter(
    (field) => document.querySelector('label[for="' + field.id + '"]') === null,
  ).length,
  cellsWithoutScope: document.querySelectorAll('th:not([scope])').length,
  tooWide: ${TOO_WIDE},
  title: document.title,
})`;

export function launchBrowser(): Promise<Browser> {
  return launch({
    executablePath: '/usr/bin/chromium',
    // The tests run as root, whom Chromium's sandbox refuses.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--no-first-run'],
  });
}

/** By keys alone: to the field or button of a name, however far it is. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let count = 0; count < 60; count += 1) {
    await page.keyboard.press('Tab');
    const focused = String(await page.evaluate(FOCUSED));
    if (focused.startsWith(name)) {
      return;
    }
  }
  throw new Error(`no key leads to ${name}`);
}

export async function submit(page: Page): Promise<void> {
  await Promise.all([page.waitForNavigation({ waitUntil: 'networkidle0' }), page.keyboard.press('Enter')]);
}

export async function signIn(page: Page, login: string, password: string): Promise<void> {
  await tabTo(page, 'Name');
  await page.keyboard.type(login);
  await tabTo(page, 'Password');
  await page.keyboard.type(password);
  await submit(page);
}

export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES !== undefined) {
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
  }
}
