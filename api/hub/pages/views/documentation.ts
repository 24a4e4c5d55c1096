import { REGISTRY_OPERATIONS } from '../../registry/registry-api.ts';
import { HUB_VERSIONS } from '../../request/version.ts';
import { HUB_ROUTES } from '../../routes/index.ts';
import { scrolled } from '../format.ts';
import { html, type Html } from '../html.ts';

/** Where every error leads: what there is to ask, and what errors mean. */
export function documentationView(baseUrl: string): Html {
  return html`<h1>The interface</h1>
    <p>
      Requests go to <code>${baseUrl}</code> with a header <code>Authorization: Bearer TOKEN</code>. Shapes
      are those of GitHub's REST interface, versions ${HUB_VERSIONS.join(' and ')} by the header
      <code>X-Svc-Api-Version</code>. Images go by the OCI distribution protocol, with a token as the password
      of <code>docker login</code>.
    </p>
    <h2>Errors</h2>
    ${scrolled('Errors', rows(['Status', 'Means'], ERRORS))}
    <h2>Operations</h2>
    ${scrolled('Operations', rows(['Operation', 'Permission', 'Scopes, any of them'], operations()))}`;
}

const ERRORS: readonly (readonly string[])[] = [
  ['400', 'The request was not understood, or asks for a version that is not served.'],
  ['401', 'There is no token, or it is wrong.'],
  [
    '403',
    'The token may not do it: headers say what it would need. Or too many requests or wrong tokens came.',
  ],
  ['404', 'It is not there, or may not be seen with this token.'],
  ['410', 'The version is served no more.'],
  ['422', 'A field is wrong: errors names each of them.'],
  ['429', 'Too much for the moment: wait as many seconds as retry-after says.'],
  ['507', 'The disk of the hub is full.'],
];

function operations(): readonly (readonly string[])[] {
  const own = HUB_ROUTES.filter(({ path }) => !path.startsWith('/admin/')).map((route) => {
    const accepts = 'accepts' in route ? route.accepts : undefined;
    return [`${route.method} ${route.path}`, accepts?.permissions ?? '', accepts?.scopes.join(', ') ?? ''];
  });
  return [...own, ...REGISTRY_OPERATIONS.map((operation) => [operation, '', ''])];
}

function rows(titles: readonly string[], lines: readonly (readonly string[])[]): Html {
  return html`<table>
    <thead>
      <tr>
        ${titles.map((title) => html`<th scope="col">${title}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${lines.map(
        ([first = '', ...others]) =>
          html`<tr>
            <th scope="row"><code>${first}</code></th>
            ${others.map((text) => html`<td>${text}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}
