import { html, type Html } from '../html.ts';
import { markField } from '../layout.ts';

export interface SignInPage {
  /** As it was sent. */
  name: string;
  problem: string | undefined;
  returnTo: string;
  mark: string;
}

export function signInView({ name, problem, returnTo, mark }: SignInPage): Html {
  return html`<h1>Sign in</h1>
    ${problem !== undefined && html`<div class="note bad" role="alert"><p>${problem}</p></div>`}
    <form class="stack" method="post" action="/login">
      ${markField(mark)}<input type="hidden" name="return_to" value="${returnTo}" />
      <div class="field">
        <label for="name">Name</label>
        <input id="name" name="name" value="${name}" required autocomplete="username" autocapitalize="none" />
      </div>
      <div class="field">
        <label for="password">Password</label>
        <input id="password" name="password" type="password" required autocomplete="current-password" />
      </div>
      <button type="submit">Sign in</button>
    </form>
    <p class="soft">Tokens are no passwords: they are for programs.</p>`;
}
