import type { PageDelivery, PageDeliveryDetails, PageHook } from '../../../types/hub/pages.ts';
import { scrolled, timeElement } from '../format.ts';
import { html, type Html } from '../html.ts';
import { markField } from '../layout.ts';

/** A repository's webhooks. */
export function hooksView(fullName: string, hooks: readonly PageHook[]): Html {
  const table = html`<table>
    <caption>
      ${hooks.length} ${hooks.length === 1 ? 'webhook' : 'webhooks'}
    </caption>
    <thead>
      <tr>
        <th scope="col">Address</th>
        <th scope="col">Events</th>
        <th scope="col">State</th>
        <th scope="col">Last answer</th>
      </tr>
    </thead>
    <tbody>
      ${hooks.map(
        (hook) =>
          html`<tr>
            <th scope="row"><a href="/${fullName}/settings/hooks/${hook.id}">${hook.config.url}</a></th>
            <td>${hook.events.join(', ')}</td>
            <td>${hook.active ? 'active' : 'switched off'}</td>
            <td>${answerText(hook)}</td>
          </tr> `,
      )}
    </tbody>
  </table>`;
  return html`<h1>Webhooks of ${fullName}</h1>
    <p><a href="/${fullName}">Back to the repository</a></p>
    ${hooks.length === 0 ? html`<p>There are no webhooks.</p>` : scrolled('Webhooks', table)}`;
}

/** A webhook with what was delivered. */
export function hookView(fullName: string, hook: PageHook, deliveries: readonly PageDelivery[]): Html {
  const { config } = hook;
  return html`<h1>Webhook ${hook.id}</h1>
    <p><a href="/${fullName}/settings/hooks">All webhooks of ${fullName}</a></p>
    <dl>
      <dt>Address</dt>
      <dd><code>${config.url}</code></dd>
      <dt>Content type</dt>
      <dd>${config.content_type}</dd>
      <dt>Certificate</dt>
      <dd>${config.insecure_ssl === '1' ? 'is not verified' : 'is verified'}</dd>
      <dt>Signature</dt>
      <dd>${config.secret === undefined ? 'no secret' : 'with a secret'}</dd>
      <dt>Events</dt>
      <dd>${hook.events.join(', ')}</dd>
      <dt>State</dt>
      <dd>${hook.active ? 'active' : 'switched off'}</dd>
      <dt>Last answer</dt>
      <dd>${answerText(hook)}</dd>
    </dl>
    <h2>Recent deliveries</h2>
    ${
      deliveries.length === 0
        ? html`<p>Nothing was delivered yet.</p>`
        : scrolled('Recent deliveries', deliveryTable(`/${fullName}/settings/hooks/${hook.id}`, deliveries))
    }`;
}

function deliveryTable(path: string, deliveries: readonly PageDelivery[]): Html {
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Delivery</th>
        <th scope="col">Event</th>
        <th scope="col">When</th>
        <th scope="col">Result</th>
        <th scope="col" class="number">Seconds</th>
      </tr>
    </thead>
    <tbody>
      ${deliveries.map(
        (each) =>
          html`<tr>
            <th scope="row"><a href="${path}/deliveries/${each.id}">${each.guid}</a></th>
            <td>${eventText(each)}</td>
            <td>${timeElement(each.delivered_at)}</td>
            <td>${resultText(each)}</td>
            <td class="number">${each.duration}</td>
          </tr> `,
      )}
    </tbody>
  </table>`;
}

/** What was sent and answered, and the button that sends it again. */
export function deliveryView(path: string, delivery: PageDeliveryDetails, mark: string): Html {
  const { request, response } = delivery;
  return html`<h1>Delivery ${delivery.guid}</h1>
    <p><a href="${path}">Back to the webhook</a></p>
    <dl>
      <dt>Event</dt>
      <dd>${eventText(delivery)}</dd>
      <dt>When</dt>
      <dd>${timeElement(delivery.delivered_at)}, in ${delivery.duration} s</dd>
      <dt>Result</dt>
      <dd>${resultText(delivery)}</dd>
      <dt>Address</dt>
      <dd><code>${delivery.url}</code></dd>
    </dl>
    <form method="post" action="${path}/deliveries/${delivery.id}/redeliver">
      ${markField(mark)}
      <p><button type="submit">Deliver again</button></p>
    </form>
    <h2>Request</h2>
    ${headers('Headers of the request', request.headers)}
    <pre tabindex="0" aria-label="Payload of the request">
${JSON.stringify(request.payload, undefined, 2)}</pre>
    <h2>Response</h2>
    ${headers('Headers of the response', response.headers)}
    <pre tabindex="0" aria-label="Body of the response">${response.payload}</pre>`;
}

function headers(label: string, all: Readonly<Record<string, string>>): Html {
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return html`<pre tabindex="0" aria-label="${label}">${lines.join('\n')}</pre>`;
}

function eventText({ event, action }: PageDelivery): string {
  return action === null ? event : `${event}, ${action}`;
}

function resultText({ status, status_code: code, redelivery }: PageDelivery): string {
  return `${code} ${status}${redelivery ? ', sent again' : ''}`;
}

function answerText({ last_response: { code, status, message } }: PageHook): string {
  return [code === null ? '' : String(code), message ?? status].filter((part) => part !== '').join(' ');
}
