import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Router } from '@koa/router';
import Koa from 'koa';
import type { Context, Middleware } from 'koa';
import { isDiskFull, isEngineError, notFound } from '../../../daemon/base/errors.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { UnreadBodyError } from '../../pipeline/body.ts';
import type { HubPagesPort } from '../../types/hub/pages.ts';
import { toHubFailure } from '../errors.ts';
import { WorkTime } from '../request/work-time.ts';
import { HUB_ROUTES } from '../routes/index.ts';
import { COOKIES, readCookie, setCookie } from './cookies.ts';
import { readForm, type SentForm } from './forms.ts';
import { html } from './html.ts';
import { layout } from './layout.ts';
import type { PageResult, PageRoute } from './page.ts';
import { DOCUMENTATION_PATH, PAGE_ROUTES } from './routes.ts';
import { STYLE, STYLE_PATH } from './style.ts';

export interface PagesDeps {
  pages: HubPagesPort;
  log: Logger;
  /** Where clients find the hub, without a slash at its end. */
  baseUrl: string;
}

export interface PagesHttp {
  /** Whether a request is for a page: a browser asks for HTML, at a path that no operation has. */
  isFor(req: IncomingMessage, url: string): boolean;
  handle(req: IncomingMessage, res: ServerResponse): void;
}

/** Nothing but our stylesheet and our forms; in no frame. */
const SECURITY: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policyOf(''),
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** `formTarget`: where forms may lead besides; '' = nowhere else. */
function policyOf(formTarget: string): string {
  return (
    `default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' ${formTarget}`.trim() +
    "; base-uri 'none'; frame-ancestors 'none'"
  );
}

/** The HTTP of the hub's pages: HTML made here, no script, no build step. */
export function createPages(deps: PagesDeps): PagesHttp {
  const router = new Router({ sensitive: true, strict: true });
  for (const route of PAGE_ROUTES) {
    router.register(route.path, [route.method], servePage(route, deps));
  }
  const app = new Koa();
  app.on('error', (error: unknown) => deps.log.debug({ err: error }, 'connection error'));
  app.use(answerErrors(deps));
  app.use(serveStyle());
  const routes: unknown = router.routes();
  // The router types the context for its own state; it adds properties and takes none of ours away.
  app.use(routes as Middleware);
  app.use(() => {
    throw notFound('Not Found');
  });
  const handle = app.callback();
  return {
    isFor,
    handle: (req, res) => {
      void handle(req, res).catch((error: unknown) => {
        deps.log.error({ err: error }, 'a page of the hub was not answered');
      });
    },
  };
}

/** First parts of paths that are not names of accounts here: those of operations and of the registry. */
const OPERATIONS = new Set([
  ...HUB_ROUTES.map(({ path }) => path.split('/')[1] ?? ''),
  'v2',
  'token',
  'oauth',
  'v1',
  'notes',
  'avatars',
]);

function isFor(req: IncomingMessage, url: string): boolean {
  const [path = '/'] = url.split('?', 1);
  if (path === STYLE_PATH || path === '/login' || path === '/logout' || path.startsWith('/settings/')) {
    return true;
  }
  if (path === '/oauth/authorize' || path === DOCUMENTATION_PATH) {
    return true;
  }
  const isSignOn = /^\/orgs\/[^/]+\/sso$/.test(path);
  const isOperation = OPERATIONS.has(path.split('/')[1] ?? '') && !isSignOn && path !== '/';
  const isBrowser =
    req.method === 'POST'
      ? /^application\/x-www-form-urlencoded\b/i.test(req.headers['content-type'] ?? '')
      : (req.headers.accept ?? '').includes('text/html');
  return isBrowser && !isOperation;
}

function answerErrors({ log, pages, baseUrl }: PagesDeps): Middleware {
  return async (ctx, next) => {
    ctx.set(SECURITY);
    ctx.set('Cache-Control', 'no-store');
    try {
      await next();
    } catch (error) {
      const { status, body, headers, level } = toHubFailure(error, baseUrl);
      log[level]({ method: ctx.method, path: ctx.path, status, err: error }, 'page of the hub failed');
      ctx.status = status;
      ctx.set(headers);
      if (error instanceof UnreadBodyError) {
        ctx.set('Connection', 'close');
      }
      const secret = readCookie(ctx, COOKIES.session);
      const { login } = pages.visit(secret, addressOf(ctx));
      const title = TITLES[status] ?? 'This did not work';
      const problem = html`<h1>${title}</h1>
        <p>${status === 404 ? 'There is no such page, or you may not see it.' : String(body['message'])}</p>
        <p>
          ${login === undefined ? html`<a href="/login">Sign in</a> or go` : 'Go'}
          <a href="/">to the repositories</a>.
        </p>`;
      const mark = pages.markOf(visitorOf(ctx, login));
      answerHtml(ctx, layout({ title, login, mark, path: ctx.path }, problem));
    }
  };
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'This was not understood',
  401: 'Sign in first',
  403: 'Not allowed',
  404: 'Not found',
  422: 'Something is wrong in the form',
  429: 'Too many requests',
  507: 'The disk of the hub is full',
};

function serveStyle(): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== STYLE_PATH) {
      await next();
      return;
    }
    ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
    ctx.type = 'text/css; charset=utf-8';
    ctx.body = STYLE;
  };
}

const NO_FORM: SentForm = { fields: new URLSearchParams(), files: new Map() };

function servePage(route: PageRoute, { pages, baseUrl, log }: PagesDeps) {
  return async (ctx: Context & { params: Record<string, string> }): Promise<void> => {
    const address = addressOf(ctx);
    const isSecure = baseUrl.startsWith('https:');
    const secret = readCookie(ctx, COOKIES.session);
    const visit = pages.visit(secret, address);
    const mark = pages.markOf(visitorOf(ctx, visit.login, isSecure));
    const work = new WorkTime();
    const isContent = route.method === 'POST';
    const admission = visit.session.admit({
      operation: route.id,
      method: route.method,
      isContent,
      isFree: false,
    });
    try {
      const { fields: form, files } = isContent ? await readForm(ctx, mark) : NO_FORM;
      const query = new URLSearchParams(ctx.querystring);
      const request = {
        pages,
        visit,
        params: ctx.params,
        query,
        form,
        files,
        mark,
        address,
        baseUrl,
        path: isContent ? '/' : ctx.url,
      };
      const result = await work.run(() => route.handler(request));
      await send(ctx, result, { pages, secret, isSecure });
      if (result.kind === 'page') {
        const frame = { title: result.title, login: visit.login, mark, path: ctx.path };
        work.run(() => answerHtml(ctx, layout(frame, result.body)));
        await renew(ctx, visit, { isSecure, log });
      }
    } finally {
      admission.done(false, work.ms);
    }
  };
}

async function send(
  ctx: Context,
  result: PageResult,
  { pages, secret, isSecure }: { pages: HubPagesPort; secret: string | undefined; isSecure: boolean },
): Promise<void> {
  if (result.kind === 'page') {
    ctx.status = result.status ?? 200;
    if (result.formTarget !== undefined) {
      ctx.set('Content-Security-Policy', policyOf(result.formTarget));
    }
    return;
  }
  if (result.kind === 'leave') {
    ctx.status = 303;
    ctx.set('Location', result.to);
    return;
  }
  ctx.status = 303;
  ctx.set('Location', result.to);
  if (result.session !== undefined && secret !== undefined) {
    // Whoever signs in anew, or out, leaves nothing behind that another one may have got hold of.
    await pages.signOut(secret);
  }
  if (result.session !== undefined) {
    const { secret: value, lifetimeS } = result.session ?? { secret: '', lifetimeS: 0 };
    setCookie(ctx, { name: COOKIES.session, value, lifetimeS, isSecure });
  }
}

/** With pages that are read. Where nothing can be written these are shown all the same, and the secret serves on. */
async function renew(
  ctx: Context,
  visit: ReturnType<HubPagesPort['visit']>,
  { isSecure, log }: { isSecure: boolean; log: Logger },
): Promise<void> {
  if (ctx.method !== 'GET') {
    return;
  }
  try {
    const fresh = await visit.renew();
    if (fresh !== undefined) {
      const { secret: value, lifetimeS } = fresh;
      setCookie(ctx, { name: COOKIES.session, value, lifetimeS, isSecure });
    }
  } catch (error) {
    if (!isDiskFull(error) && !isEngineError(error, 'unavailable')) {
      throw error;
    }
    log.debug({ err: error }, 'the secret of a cookie is not renewed now');
  }
}

/** What a form is bound to: a browser, by a cookie of its own, and who is signed in there. */
function visitorOf(ctx: Context, login: string | undefined, isSecure = false): string {
  let visitor = readCookie(ctx, COOKIES.form);
  if (visitor === undefined) {
    visitor = randomBytes(24).toString('base64url');
    setCookie(ctx, { name: COOKIES.form, value: visitor, isSecure });
  }
  return `${visitor} ${login ?? ''}`;
}

function answerHtml(ctx: Context, text: string): void {
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = text;
}

function addressOf(ctx: Context): string {
  return ctx.req.socket.remoteAddress ?? '';
}
