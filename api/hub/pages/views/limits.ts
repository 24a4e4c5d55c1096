import type { HubRateStatus } from '../../../types/hub/rate.ts';
import type { RegistryResource } from '../../../types/hub/registry.ts';
import { scrolled, timeElement } from '../format.ts';
import { html, type Html } from '../html.ts';

const REGISTRY: readonly (readonly [RegistryResource, string])[] = [
  ['registry_pull', 'Pulls of a minute'],
  ['registry_push', 'Pushes of a minute'],
];

/** What is used: of the hour (`core`), and of the registry's minutes. Absent = there is no limit. */
export function limitsView(
  core: HubRateStatus | undefined,
  registry: Partial<Record<RegistryResource, HubRateStatus>>,
): Html {
  const minutes = REGISTRY.map(([resource, title]) => row(title, registry[resource]));
  const rows = [row('Requests of an hour', core), ...minutes].filter((each) => each !== undefined);
  if (rows.length === 0) {
    return html`<h1>Limits</h1>
      <p>Your requests are not limited.</p>`;
  }
  return html`<h1>Limits</h1>
    <p>
      Requests by all of your tokens and by these pages together; pulls and pushes of images by all tokens.
    </p>
    ${scrolled(
      'Limits',
      html`<table>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col" class="number">Limit</th>
            <th scope="col" class="number">Used</th>
            <th scope="col" class="number">Left</th>
            <th scope="col">Starts anew</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>`,
    )}`;
}

function row(title: string, status: HubRateStatus | undefined): Html | undefined {
  if (status === undefined) {
    return undefined;
  }
  const reset = `${new Date(status.reset * 1000).toISOString().slice(0, 19)}Z`;
  return html`<tr>
    <th scope="row">${title}</th>
    <td class="number">${status.limit}</td>
    <td class="number">${status.used}</td>
    <td class="number">${status.remaining}</td>
    <td>${timeElement(reset)}</td>
  </tr>`;
}
