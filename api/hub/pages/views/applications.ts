import type {
  CreatedOAuthApplication,
  GrantedAuthorization,
  OAuthApplicationView,
} from '../../../types/hub/oauth.ts';
import { pathOf, scrolled, timeElement } from '../format.ts';
import { html, type Html } from '../html.ts';
import { markField } from '../layout.ts';

/** What somebody has let applications do, and the organizations whose applications it looks after. */
export function authorizationsView(
  granted: readonly GrantedAuthorization[],
  organizations: readonly string[],
  mark: string,
): Html {
  return html`<h1>Applications</h1>
    <h2>Applications that act for you</h2>
    ${
      granted.length === 0
        ? html`<p>You have let none.</p>`
        : scrolled('Applications that act for you', grantedTable(granted, mark))
    }
    ${
      organizations.length > 0 &&
      html`<h2>Applications of your organizations</h2>
        <ul>
          ${organizations.map(
            (name) => html`<li><a href="/settings/organizations/${name}/applications">${name}</a></li> `,
          )}
        </ul>`
    }`;
}

function grantedTable(granted: readonly GrantedAuthorization[], mark: string): Html {
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Application</th>
        <th scope="col">May</th>
        <th scope="col">Since</th>
        <th scope="col">Last used</th>
        <th scope="col">End it</th>
      </tr>
    </thead>
    <tbody>
      ${granted.map(
        (one) =>
          html`<tr>
            <th scope="row">${one.application} <span class="soft">of ${one.organization}</span></th>
            <td>${one.accesses.map((access) => html`<div>${access}</div> `)}</td>
            <td>${timeElement(one.created_at)}</td>
            <td>${one.is_exchanged ? timeElement(one.last_used_at) : 'Not fetched yet'}</td>
            <td>
              <form class="line" method="post" action="/settings/applications/${one.id}/revoke">
                ${markField(mark)}
                <button class="quiet" type="submit" aria-label="End ${one.application}">End</button>
              </form>
            </td>
          </tr> `,
      )}
    </tbody>
  </table>`;
}

export interface ApplicationsPage {
  organization: string;
  applications: readonly OAuthApplicationView[];
  /** Shown this once. */
  made: CreatedOAuthApplication | undefined;
  problem: string | undefined;
  mark: string;
}

/** An organization's OAuth applications, and the form for another one. */
export function applicationsView({
  organization,
  applications,
  made,
  problem,
  mark,
}: ApplicationsPage): Html {
  return html`<h1>OAuth applications of ${organization}</h1>
    ${made && secret(made)}
    ${
      problem !== undefined &&
      html`<div class="note bad" role="alert"><p>The application was not made: ${problem}</p></div>`
    }
    ${
      applications.length === 0
        ? html`<p>There are none.</p>`
        : scrolled('OAuth applications', table(organization, applications, mark))
    }
    <h2>New application</h2>
    ${form(organization, mark)}`;
}

function secret({
  name,
  id,
  client_id: clientId,
  client_secret: clientSecret,
}: CreatedOAuthApplication): Html {
  return html`<div class="note" role="status">
    <p><strong>${name}</strong> has the ID <code>${id}</code> and the client id <code>${clientId}</code>.</p>
    <pre tabindex="0" aria-label="The client secret">${clientSecret}</pre>
    <p>Copy the client secret now: it is not shown again.</p>
  </div>`;
}

function table(organization: string, applications: readonly OAuthApplicationView[], mark: string): Html {
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">ID, client id, redirect URI</th>
        <th scope="col" class="number">Tokens</th>
        <th scope="col">Change it</th>
      </tr>
    </thead>
    <tbody>
      ${applications.map(
        (one) =>
          html`<tr>
            <th scope="row">${avatar(one)} ${one.name}</th>
            <td>
              <div><code>${one.id}</code></div>
              <div><code>${one.client_id}</code></div>
              <div><code>${one.redirect_uri}</code></div>
            </td>
            <td class="number">${one.tokens}</td>
            <td>
              ${act('New secret', 'secret', { organization, one, mark })}
              ${act('Remove', 'remove', { organization, one, mark })}
            </td>
          </tr> `,
      )}
    </tbody>
  </table>`;
}

function act(
  label: string,
  what: string,
  { organization, one, mark }: { organization: string; one: OAuthApplicationView; mark: string },
): Html {
  return html`<form
    class="line"
    method="post"
    action="/settings/organizations/${organization}/applications/${one.id}/${what}"
  >
    ${markField(mark)}
    <button class="quiet" type="submit" aria-label="${label}: ${one.name}">${label}</button>
  </form>`;
}

function avatar({ avatar: address }: OAuthApplicationView): Html | undefined {
  return address === ''
    ? undefined
    : html`<img class="avatar" src="${pathOf(address)}" alt="" width="24" height="24" />`;
}

const FIELDS: readonly { name: string; label: string; help: string; isRequired: boolean; type: string }[] = [
  { name: 'name', label: 'Name', help: 'What users read', isRequired: true, type: 'text' },
  { name: 'domain', label: 'Domain', help: 'Full address of the application', isRequired: true, type: 'url' },
  {
    name: 'redirect_uri',
    label: 'Redirect URI',
    help: 'Full address that users go back to, on the same domain',
    isRequired: true,
    type: 'url',
  },
  {
    name: 'privacy_url',
    label: 'Privacy policy',
    help: 'Its address, if there is one',
    isRequired: false,
    type: 'url',
  },
  {
    name: 'terms_url',
    label: 'Terms of use',
    help: 'Their address, if there are any',
    isRequired: false,
    type: 'url',
  },
];

function form(organization: string, mark: string): Html {
  return html`<form
    class="stack"
    method="post"
    enctype="multipart/form-data"
    action="/settings/organizations/${organization}/applications"
  >
    ${markField(mark)}
    ${FIELDS.map(
      ({ name, label, help, isRequired, type }) =>
        html`<div class="field">
          <label for="${name}">${label}</label>
          <input
            id="${name}"
            name="${name}"
            type="${type}"
            autocomplete="off"
            aria-describedby="${name}-help"
            ${isRequired && html`required`}
          />
          <span id="${name}-help" class="soft">${help}</span>
        </div> `,
    )}
    <div class="field">
      <label for="avatar">Avatar</label>
      <input
        id="avatar"
        name="avatar"
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp"
        aria-describedby="avatar-help"
      />
      <span id="avatar-help" class="soft"
        >A PNG, JPEG, GIF or WebP image of at most 64 KiB, if there is one</span
      >
    </div>
    <div class="field">
      <label for="scopes">Scopes</label>
      <input id="scopes" name="scopes" autocomplete="off" aria-describedby="scopes-help" />
      <span id="scopes-help" class="soft">
        Such as <code>branch:write_branch user:read_user</code>; empty: to know the user, to pull and to push
      </span>
    </div>
    <fieldset>
      <div>
        <input type="checkbox" id="agree" name="agree" value="yes" required />
        <label for="agree">
          The application shows its users a privacy policy, and obtains their consent to its terms of use
        </label>
      </div>
    </fieldset>
    <button type="submit">Make the application</button>
  </form>`;
}
