import type { ConsentQuestion } from '../../../types/hub/oauth.ts';
import { pathOf } from '../format.ts';
import { html, type Html } from '../html.ts';
import { markField } from '../layout.ts';

/** What each group of scopes is for, in our own words. */
const GROUPS: Readonly<Record<string, string>> = {
  user: 'As you',
  organization: 'In each account that you choose',
  database: 'In each repository that you choose',
  branch: 'With each tag that you name',
};

/** Asks a user whether an application may act: who asks, for what, with which of the user's things. */
export function consentView(question: ConsentQuestion, mark: string, problem: string | undefined): Html {
  const { application, scopes, parameters } = question;
  return html`<h1>Let ${application.name} act for you?</h1>
    ${problem !== undefined && html`<div class="note bad" role="alert"><p>${problem}</p></div>`}
    <div class="line-up">
      ${application.avatar !== '' && html`<img src="${pathOf(application.avatar)}" alt="" width="64" height="64" />`}
      <p>
        <strong>${application.name}</strong> of the organization <strong>${application.organization}</strong>,
        at <a href="${application.domain}" rel="noreferrer">${new URL(application.domain).host}</a>, asks to
        act for you in this hub.
      </p>
    </div>
    <form class="stack wide" method="post" action="/oauth/authorize">
      ${markField(mark)}
      ${parameters.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      ${scopes.map(({ group, scopes: asked }) => groupOf(question, group, asked))}
      <p class="soft">
        You are sent back to <code>${question.redirectOrigin}</code>. ${terms(application)} What you allow
        never goes beyond what you may do yourself; you can end it at any time under Applications.
      </p>
      <div class="choice">
        <button type="submit" name="decision" value="allow">Allow</button>
        <button class="quiet" type="submit" name="decision" value="deny">Do not allow</button>
      </div>
    </form>`;
}

function groupOf(
  { owners, repositories, chosen }: ConsentQuestion,
  group: string,
  asked: readonly { name: string; description: string }[],
): Html {
  return html`<fieldset>
    <legend>${GROUPS[group] ?? group}</legend>
    <ul>
      ${asked.map(({ name, description }) => html`<li>${description} <code>${name}</code></li> `)}
    </ul>
    ${group === 'organization' && boxes('organization', owners, chosen)}
    ${group === 'database' && boxes('repository', repositories, '')}
    ${group === 'branch' && tagField(repositories)}
  </fieldset>`;
}

function boxes(name: string, values: readonly string[], chosen: string): Html {
  return values.length === 0
    ? html`<p class="soft">There are none.</p>`
    : html`${values.map(
        (value) =>
          html`<div>
            <input
              type="checkbox"
              id="${name}-${value}"
              name="${name}"
              value="${value}"
              ${value === chosen && html`checked`}
            />
            <label for="${name}-${value}">${value}</label>
          </div> `,
      )}`;
}

function tagField(repositories: readonly string[]): Html {
  const example = `${repositories[0] ?? 'owner/repository'}:latest`;
  return html`<div class="field">
    <label for="tags">Tags, with spaces between them</label>
    <input id="tags" name="tags" autocomplete="off" autocapitalize="none" aria-describedby="tags-help" />
    <span id="tags-help" class="soft">For example <code>${example}</code></span>
  </div>`;
}

function terms({ privacyUrl, termsUrl, name }: ConsentQuestion['application']): Html | undefined {
  if (privacyUrl === null && termsUrl === null) {
    return undefined;
  }
  const links = [
    ...(privacyUrl === null ? [] : [html`<a href="${privacyUrl}" rel="noreferrer">privacy policy</a>`]),
    ...(termsUrl === null ? [] : [html`<a href="${termsUrl}" rel="noreferrer">terms of use</a>`]),
  ];
  return html`By allowing you agree to the
  ${links.map((link, index) => html`${index > 0 && ' and the '}${link}`)} of ${name}.`;
}
