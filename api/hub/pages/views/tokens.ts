import type { CreatedHubToken, HubToken } from '../../../types/hub/token.ts';
import { scrolled, timeElement } from '../format.ts';
import { html, type Html } from '../html.ts';
import { markField } from '../layout.ts';

/** Scopes that the form offers, each with what it is for. */
export const OFFERED: readonly (readonly [string, string])[] = [
  ['repo', 'repositories, also private ones, and all in them'],
  ['read:packages', 'pull images'],
  ['write:packages', 'push images'],
  ['delete:packages', 'delete images'],
  ['admin:repo_hook', 'webhooks of repositories'],
  ['read:org', 'see members of organizations'],
  ['admin:org', 'change members of organizations'],
  ['delete_repo', 'delete repositories'],
];

const LIFETIMES: readonly (readonly [string, string])[] = [
  ['2592000', '30 days'],
  ['7776000', '90 days'],
  ['31536000', 'one year'],
  ['', 'never'],
];

export interface TokensPage {
  tokens: readonly HubToken[];
  /** Shown this once. */
  made: CreatedHubToken | undefined;
  /** What was wrong with the form. */
  problem: string | undefined;
  mark: string;
}

/** Somebody's own tokens, and the form for another one. */
export function tokensView({ tokens, made, problem, mark }: TokensPage): Html {
  return html`<h1>Tokens</h1>
    ${made && secret(made)}
    ${
      problem !== undefined &&
      html`<div class="note bad" role="alert"><p>The token was not made: ${problem}</p></div>`
    }
    <p>
      A token is used in place of a password: by <code>docker login</code>, and for the interface of the hub.
    </p>
    <h2>Your tokens</h2>
    ${tokens.length === 0 ? html`<p>You have no tokens.</p>` : scrolled('Your tokens', table(tokens, mark))}
    <h2>New token</h2>
    ${form(mark)}`;
}

function secret({ token, note }: CreatedHubToken): Html {
  return html`<div class="note" role="status">
    <p><strong>Your new token${note !== '' && ` “${note}”`}</strong></p>
    <pre tabindex="0" aria-label="The new token">${token}</pre>
    <p>Copy it now: it is not shown again.</p>
  </div>`;
}

function table(tokens: readonly HubToken[], mark: string): Html {
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Note</th>
        <th scope="col">Ends in</th>
        <th scope="col">May</th>
        <th scope="col">Last used</th>
        <th scope="col">Expires</th>
        <th scope="col">End it</th>
      </tr>
    </thead>
    <tbody>
      ${tokens.map(
        (token) =>
          html`<tr>
            <th scope="row">${token.note === '' ? `Token ${token.id}` : token.note}</th>
            <td><code>${token.token_last_eight}</code></td>
            <td>${mayText(token)}</td>
            <td>${timeElement(token.last_used_at)}</td>
            <td>${timeElement(token.expires_at)}</td>
            <td>
              <form class="line" method="post" action="/settings/tokens/${token.id}/revoke">
                ${markField(mark)}
                <button class="quiet" type="submit" aria-label="Revoke token ${token.note || token.id}">
                  Revoke
                </button>
              </form>
            </td>
          </tr> `,
      )}
    </tbody>
  </table>`;
}

function mayText({ permissions, scopes, resource_owner: owner }: HubToken): string {
  if (permissions !== undefined) {
    const given = Object.entries(permissions).map(([name, level]) => `${name} ${level}`);
    return `${given.join(', ')}, for ${owner ?? ''}`;
  }
  return scopes.length === 0 ? 'what all may see' : scopes.join(', ');
}

function form(mark: string): Html {
  return html`<form class="stack" method="post" action="/settings/tokens">
    ${markField(mark)}
    <div class="field">
      <label for="note">Note</label>
      <input id="note" name="note" maxlength="256" required autocomplete="off" aria-describedby="note-help" />
      <span id="note-help" class="soft">What the token is for</span>
    </div>
    <fieldset>
      <legend>Scopes</legend>
      ${OFFERED.map(
        ([scope, what]) =>
          html`<div>
            <input type="checkbox" id="scope-${scope}" name="scope" value="${scope}" />
            <label for="scope-${scope}"><code>${scope}</code> <span class="soft">${what}</span></label>
          </div> `,
      )}
    </fieldset>
    <div class="field">
      <label for="expires">Expires</label>
      <select id="expires" name="expires">
        ${LIFETIMES.map(([seconds, text]) => html`<option value="${seconds}">${text}</option> `)}
      </select>
    </div>
    <button type="submit">Make the token</button>
  </form>`;
}
