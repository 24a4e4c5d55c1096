import { isEngineError, unreachable } from '../../../daemon/base/errors.ts';
import { InvalidFieldsError } from '../../../daemon/base/invalid-fields.ts';
import type { AuthorizeAnswer, CreatedOAuthApplication } from '../../types/hub/oauth.ts';
import { html } from './html.ts';
import { page, redirect, withLogin, type PageRequest, type PageResult, type PageRoute } from './page.ts';
import { applicationsView, authorizationsView } from './views/applications.ts';
import { consentView } from './views/consent.ts';

const AUTHORIZE = '/oauth/authorize';
const ORGANIZATION = '/settings/organizations/:organization/applications';

/** Pages of OAuth applications: consent (seed 002 A, step 1), what a user has let, and those of an organization. */
export const OAUTH_PAGES: readonly PageRoute[] = [
  {
    id: 'page.authorize',
    method: 'GET',
    path: AUTHORIZE,
    handler: (request) => answered(request, request.visit.session.oauth.consent.ask(request.query)),
  },
  {
    id: 'page.authorized',
    method: 'POST',
    path: AUTHORIZE,
    handler: (request) => withLogin(request, () => decide(request)),
  },
  {
    id: 'page.applications',
    method: 'GET',
    path: '/settings/applications',
    handler: (request) => withLogin(request, (login) => ownPage(request, login)),
  },
  {
    id: 'page.end-authorization',
    method: 'POST',
    path: '/settings/applications/:id/revoke',
    handler: (request) =>
      withLogin(request, async () => {
        await request.visit.session.oauth.consent.end(request.params['id'] ?? '');
        return redirect('/settings/applications');
      }),
  },
  {
    id: 'page.organization-applications',
    method: 'GET',
    path: ORGANIZATION,
    handler: (request) => withLogin(request, () => organizationPage(request)),
  },
  {
    id: 'page.make-application',
    method: 'POST',
    path: ORGANIZATION,
    handler: (request) => withLogin(request, () => make(request)),
  },
  {
    id: 'page.renew-application-secret',
    method: 'POST',
    path: `${ORGANIZATION}/:id/secret`,
    handler: (request) =>
      withLogin(request, async () => {
        const { applications } = request.visit.session.oauth;
        const id = request.params['id'] ?? '';
        return organizationPage(request, {
          made: await applications.renewSecret(organizationOf(request), id),
        });
      }),
  },
  {
    id: 'page.remove-application',
    method: 'POST',
    path: `${ORGANIZATION}/:id/remove`,
    handler: (request) =>
      withLogin(request, async () => {
        const organization = organizationOf(request);
        await request.visit.session.oauth.applications.remove(organization, request.params['id'] ?? '');
        return redirect(`/settings/organizations/${organization}/applications`);
      }),
  },
];

/** Nobody is asked before it is known whom the answer goes to, and who has to be asked. */
function answered(
  request: PageRequest,
  answer: AuthorizeAnswer,
  problem?: string,
): PageResult | Promise<PageResult> {
  switch (answer.kind) {
    case 'refused':
      return {
        ...page(
          'Not authorized',
          html`<h1>This application cannot be authorized</h1>
            <p>${answer.message}. Nobody was told anything, and nothing was granted.</p>
            <p>Go <a href="/">to the repositories</a>.</p>`,
        ),
        status: 400,
      };
    case 'back':
      return { kind: 'leave', to: answer.to };
    case 'ask':
      return withLogin(request, () => ({
        ...page(
          `Authorize ${answer.question.application.name}`,
          consentView(answer.question, request.mark, problem),
        ),
        // Browsers hold the address that a form's answer leads to against the policy too.
        formTarget: answer.question.redirectOrigin,
        ...(problem !== undefined && { status: 422 }),
      }));
    default:
      return unreachable(answer);
  }
}

async function decide(request: PageRequest): Promise<PageResult> {
  const { form, visit } = request;
  const { consent } = visit.session.oauth;
  if (form.get('decision') !== 'allow') {
    return await answered(request, await consent.decide(form, 'denied'));
  }
  try {
    const choice = {
      owners: form.getAll('organization'),
      repositories: form.getAll('repository'),
      tags: (form.get('tags') ?? '').split(/[\s,]+/).filter((tag) => tag !== ''),
    };
    return await answered(request, await consent.decide(form, choice));
  } catch (error) {
    if (error instanceof InvalidFieldsError) {
      return await answered(request, consent.ask(form), error.message);
    }
    throw error;
  }
}

function ownPage({ visit, mark }: PageRequest, login: string): PageResult {
  const { session } = visit;
  const organizations = session.accounts
    .organizations()
    .map((one) => one.login)
    .filter((name) => isAdmin(session, name, login));
  return page('Applications', authorizationsView(session.oauth.consent.mine(), organizations, mark));
}

function isAdmin(
  { accounts }: PageRequest['visit']['session'],
  organization: string,
  login: string,
): boolean {
  try {
    return accounts.membership(organization, login).role === 'admin';
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return false;
    }
    throw error;
  }
}

async function make(request: PageRequest): Promise<PageResult> {
  const { form, files, visit } = request;
  const optional = (name: string): string | null => form.get(name)?.trim() || null;
  if (form.get('agree') !== 'yes') {
    const problem = 'it has to show a privacy policy and to obtain consent to its terms of use';
    return { ...organizationPage(request, { problem }), status: 422 };
  }
  try {
    const scopes = scopesOf(form.get('scopes') ?? '');
    const made = await visit.session.oauth.applications.create(organizationOf(request), {
      name: form.get('name') ?? '',
      domain: form.get('domain')?.trim() ?? '',
      redirect_uri: form.get('redirect_uri')?.trim() ?? '',
      privacy_url: optional('privacy_url'),
      terms_url: optional('terms_url'),
      avatar: files.get('avatar')?.toString('base64') ?? null,
      ...(scopes && { scopes }),
    });
    return organizationPage(request, { made });
  } catch (error) {
    if (error instanceof InvalidFieldsError || isEngineError(error, 'conflict')) {
      return { ...organizationPage(request, { problem: error.message }), status: 422 };
    }
    throw error;
  }
}

/** `branch:write_branch user:read_user`, by group; undefined = the usual ones. */
function scopesOf(text: string): Record<string, string[]> | undefined {
  const found: Record<string, string[]> = {};
  for (const one of text.split(/[\s,]+/).filter((part) => part !== '')) {
    const [group = '', name = ''] = one.split(':', 2);
    found[group] = [...(Object.hasOwn(found, group) ? (found[group] ?? []) : []), name];
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

function organizationPage(
  request: PageRequest,
  { made, problem }: { made?: CreatedOAuthApplication; problem?: string } = {},
) {
  const organization = organizationOf(request);
  const applications = request.visit.session.oauth.applications.list(organization);
  return page(
    `OAuth applications of ${organization}`,
    applicationsView({ organization, applications, made, problem, mark: request.mark }),
  );
}

function organizationOf({ params }: PageRequest): string {
  return params['organization'] ?? '';
}
