import type { HubToken } from '../../../types/hub/token.ts';
import { html, type Html } from '../html.ts';
import { markField } from '../layout.ts';

/** Asks whether a token shall be good for an organization with single sign-on. */
export function signOnView(
  { organization, token }: { organization: string; token: HubToken },
  request: string,
  mark: string,
): Html {
  return html`<h1>Authorize a token for ${organization}</h1>
    <p>
      The organization <strong>${organization}</strong> asks that each classic token is authorized for it
      before the token is used there.
    </p>
    <dl>
      <dt>Token</dt>
      <dd>
        ${token.note === '' ? `Token ${token.id}` : token.note}, ends in
        <code>${token.token_last_eight}</code>
      </dd>
      <dt>Scopes</dt>
      <dd>${token.scopes.join(', ')}</dd>
    </dl>
    <form method="post" action="/orgs/${organization}/sso">
      ${markField(mark)}<input type="hidden" name="authorization_request" value="${request}" />
      <p><button type="submit">Authorize the token</button></p>
    </form>`;
}

export function signOnDoneView(organization: string): Html {
  return html`<h1>Authorized</h1>
    <div class="note" role="status"><p>The token may be used with ${organization} now.</p></div>
    <p><a href="/settings/tokens">Your tokens</a></p>`;
}
