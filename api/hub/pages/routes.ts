import { isDiskFull, isEngineError, notFound } from '../../../daemon/base/errors.ts';
import { InvalidFieldsError } from '../../../daemon/base/invalid-fields.ts';
import type { PageHooks } from '../../types/hub/pages.ts';
import type { CreatedHubToken } from '../../types/hub/token.ts';
import { Html } from './html.ts';
import { OAUTH_PAGES } from './oauth-routes.ts';
import {
  ownPath,
  page,
  redirect,
  withLogin,
  type PageRequest,
  type PageResult,
  type PageRoute,
} from './page.ts';
import { documentationView } from './views/documentation.ts';
import { deliveryView, hooksView, hookView } from './views/hooks.ts';
import { limitsView } from './views/limits.ts';
import { noteView } from './views/notes.ts';
import { repositoriesView } from './views/repositories.ts';
import { repositoryView } from './views/repository.ts';
import { signInView } from './views/sign-in.ts';
import { signOnDoneView, signOnView } from './views/sign-on.ts';
import { tokensView } from './views/tokens.ts';

/** Where errors lead (`documentation_url`). */
export const DOCUMENTATION_PATH = '/docs';

/** The hub's pages. Those of names stand last. */
export const PAGE_ROUTES: readonly PageRoute[] = [
  get('page.home', '/', ({ visit, query }) =>
    page('Repositories', repositoriesView('Repositories', visit.session.repositories.all(), query)),
  ),
  get('page.sign-in', '/login', (request) =>
    signInPage(request, { name: '', returnTo: ownPath(request.query.get('return_to')) }),
  ),
  post('page.signed-in', '/login', signIn),
  post('page.sign-out', '/logout', () => ({ kind: 'redirect', to: '/login', session: null })),
  get('page.tokens', '/settings/tokens', (request) => withLogin(request, () => tokensPage(request))),
  post('page.make-token', '/settings/tokens', (request) =>
    withLogin(request, (login) => makeToken(request, login)),
  ),
  post('page.revoke-token', '/settings/tokens/:id/revoke', (request) =>
    withLogin(request, async (login) => {
      await request.visit.session.tokens.revoke(login, idOf(request, 'id'));
      return redirect('/settings/tokens');
    }),
  ),
  get('page.limits', '/settings/limits', ({ visit: { session } }) =>
    page('Limits', limitsView(session.rate(), session.registryRates())),
  ),
  get('page.documentation', DOCUMENTATION_PATH, ({ baseUrl }) =>
    page('The interface', documentationView(baseUrl)),
  ),
  get('page.sign-on', '/orgs/:org/sso', (request) =>
    withLogin(request, () => {
      const asked = request.query.get('authorization_request') ?? '';
      return page(
        'Authorize a token',
        signOnView(request.visit.session.tokens.signOn(asked), asked, request.mark),
      );
    }),
  ),
  post('page.signed-on', '/orgs/:org/sso', (request) =>
    withLogin(request, async (login) => {
      const { tokens } = request.visit.session;
      const { token, organization } = tokens.signOn(request.form.get('authorization_request') ?? '');
      await tokens.authorize(login, token.id, organization);
      return page('Authorized', signOnDoneView(organization));
    }),
  ),
  ...OAUTH_PAGES,
  get('page.hooks', '/:owner/:repo/settings/hooks', (request) => {
    const { owner, repo } = namesOf(request);
    const { full_name: fullName } = request.visit.session.repositories.get(owner, repo);
    return page(`Webhooks of ${fullName}`, hooksView(fullName, hooksOf(request).list(owner, repo)));
  }),
  get('page.hook', '/:owner/:repo/settings/hooks/:hook', (request) => {
    const { owner, repo } = namesOf(request);
    const hooks = hooksOf(request);
    const hook = hooks.get(owner, repo, idOf(request, 'hook'));
    const { full_name: fullName } = request.visit.session.repositories.get(owner, repo);
    const deliveries = hooks.deliveries(owner, repo, hook.id);
    return page(`Webhook ${hook.id}`, hookView(fullName, hook, deliveries));
  }),
  get('page.delivery', '/:owner/:repo/settings/hooks/:hook/deliveries/:delivery', (request) => {
    const { owner, repo } = namesOf(request);
    const [hook, delivery] = [idOf(request, 'hook'), idOf(request, 'delivery')];
    const found = hooksOf(request).delivery(owner, repo, hook, delivery);
    const path = `/${owner}/${repo}/settings/hooks/${hook}`;
    return page(`Delivery ${found.guid}`, deliveryView(path, found, request.mark));
  }),
  post(
    'page.redeliver',
    '/:owner/:repo/settings/hooks/:hook/deliveries/:delivery/redeliver',
    async (request) => {
      const { owner, repo } = namesOf(request);
      const [hook, delivery] = [idOf(request, 'hook'), idOf(request, 'delivery')];
      await hooksOf(request).redeliver(owner, repo, hook, delivery);
      return redirect(`/${owner}/${repo}/settings/hooks/${hook}`);
    },
  ),
  get('page.note', '/:owner/:repo/notes/:note', async (request) => {
    const { owner, repo } = namesOf(request);
    const note = await request.visit.session.notes.get(owner, repo, idOf(request, 'note'));
    const prose = await request.visit.session.notes.rendered(note.text);
    return page(note.title ?? `Note ${note.id}`, noteView(note, new Html(prose)));
  }),
  get('page.repository', '/:owner/:repo', async (request) => {
    const { owner, repo } = namesOf(request);
    const { session, images, hooks } = request.visit;
    const repository = session.repositories.get(owner, repo);
    const tags = await images?.tags(owner, repo);
    const notes = await session.notes.list(owner, repo, {});
    const host = request.baseUrl.replace(/^https?:\/\//, '');
    const view = repositoryView({ repository, tags, notes, host, hasHooks: hooks !== undefined });
    return page(repository.full_name, view);
  }),
  get('page.account', '/:owner', (request) => {
    const { login, repositories } = accountOf(request);
    return page(login, repositoriesView(login, repositories, request.query));
  }),
];

async function signIn(request: PageRequest): Promise<PageResult> {
  const { form, address, pages } = request;
  const [name, password] = [form.get('name') ?? '', form.get('password') ?? ''];
  const returnTo = ownPath(form.get('return_to'));
  try {
    return { kind: 'redirect', to: returnTo, session: await pages.signIn({ name, password, address }) };
  } catch (error) {
    if (isEngineError(error, 'unauthorized') || isEngineError(error, 'forbidden')) {
      const status = error.code === 'unauthorized' ? 401 : 403;
      return { ...signInPage(request, { name, returnTo, problem: error.message }), status };
    }
    throw error;
  }
}

function signInPage(
  { mark }: PageRequest,
  { name, returnTo, problem }: { name: string; returnTo: string; problem?: string },
) {
  return page('Sign in', signInView({ name, returnTo, problem, mark }));
}

async function makeToken(request: PageRequest, login: string): Promise<PageResult> {
  const { form, visit } = request;
  const expires = form.get('expires') ?? '';
  try {
    const made = await visit.session.tokens.create(login, {
      note: form.get('note') ?? '',
      scopes: form.getAll('scope'),
      expires_in: expires === '' ? null : Number(expires),
    });
    return tokensPage(request, { made });
  } catch (error) {
    const isTooMuch = isEngineError(error, 'resource_exhausted') && !isDiskFull(error);
    if (error instanceof InvalidFieldsError || isTooMuch) {
      return { ...tokensPage(request, { problem: error.message }), status: 422 };
    }
    throw error;
  }
}

function tokensPage(
  { visit, mark }: PageRequest,
  { made, problem }: { made?: CreatedHubToken; problem?: string } = {},
) {
  const tokens = visit.session.tokens.list(visit.login ?? '');
  return page('Tokens', tokensView({ tokens, made, problem, mark }));
}

function accountOf({ visit: { session }, params }: PageRequest) {
  const name = params['owner'] ?? '';
  const organization = session.accounts.organizations().find(({ login }) => isSame(login, name));
  return organization === undefined
    ? { login: session.accounts.user(name).login, repositories: session.repositories.ofUser(name) }
    : { login: organization.login, repositories: session.repositories.ofOrganization(name) };
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function hooksOf({ visit }: PageRequest): PageHooks {
  if (visit.hooks === undefined) {
    throw notFound('Not Found');
  }
  return visit.hooks;
}

function namesOf({ params }: PageRequest): { owner: string; repo: string } {
  return { owner: params['owner'] ?? '', repo: params['repo'] ?? '' };
}

function idOf({ params }: PageRequest, name: string): number {
  const text = params[name] ?? '';
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw notFound('Not Found');
  }
  return Number(text);
}

function get(id: string, path: string, handler: PageRoute['handler']): PageRoute {
  return { id, method: 'GET', path, handler };
}

function post(id: string, path: string, handler: PageRoute['handler']): PageRoute {
  return { id, method: 'POST', path, handler };
}
