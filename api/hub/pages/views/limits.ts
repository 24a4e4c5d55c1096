import type { HubRateStatus } from '../../../types/hub/rate.ts';
import { scrolled, timeElement } from '../format.ts';
import { html, type Html } from '../html.ts';

/** What of the hour is used: `core` undefined = there is no limit. */
export function limitsView(core: HubRateStatus | undefined): Html {
  if (core === undefined) {
    return html`<h1>Limits</h1>
      <p>Your requests are not limited.</p>`;
  }
  const reset = `${new Date(core.reset * 1000).toISOString().slice(0, 19)}Z`;
  return html`<h1>Limits</h1>
    <p>Requests of this hour, by all of your tokens and by these pages together.</p>
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
          <tr>
            <th scope="row">Requests</th>
            <td class="number">${core.limit}</td>
            <td class="number">${core.used}</td>
            <td class="number">${core.remaining}</td>
            <td>${timeElement(reset)}</td>
          </tr>
        </tbody>
      </table>`,
    )}`;
}
