import { invalidArgument } from '../../../daemon/base/errors.ts';
import { refuseInvalid } from '../../../daemon/base/invalid-fields.ts';
import { readPage } from '../request/pages.ts';
import { HOOK, hookOf, READ_HOOKS, WRITE_HOOKS } from './hooks.ts';
import { accepted, hubRoute, ok, param, type HubRequest, type ServedHubRoute } from './route.ts';

const DELIVERIES = `${HOOK}/deliveries`;

/** What was delivered to webhooks (seed 001 endpoints 8 to 10; GitHub: repos/webhooks). */
export const deliveryRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'delivery.list',
    method: 'GET',
    path: DELIVERIES,
    accepts: READ_HOOKS,
    handler: ({ session, query, ...request }) => {
      const page = session.deliveries.list(...hookOf(request), {
        perPage: readPage(query).perPage,
        cursor: query.get('cursor') ?? undefined,
        status: readStatus(query.get('status')),
      });
      return { kind: 'page', ...page };
    },
  }),
  hubRoute({
    id: 'delivery.get',
    method: 'GET',
    path: `${DELIVERIES}/:delivery_id`,
    accepts: READ_HOOKS,
    handler: ({ session, ...request }) => ok(session.deliveries.get(...hookOf(request), deliveryOf(request))),
  }),
  hubRoute({
    id: 'delivery.redeliver',
    method: 'POST',
    path: `${DELIVERIES}/:delivery_id/attempts`,
    accepts: WRITE_HOOKS,
    handler: async ({ session, ...request }) => {
      await session.deliveries.redeliver(...hookOf(request), deliveryOf(request));
      return accepted();
    },
  }),
];

/** Throws invalid_argument for what is no id. */
function deliveryOf(request: Pick<HubRequest<unknown>, 'params'>): number {
  const id = param(request, 'delivery_id');
  if (!/^[1-9]\d{0,14}$/.test(id)) {
    throw invalidArgument(
      `delivery_id: must be the id of a delivery, not ${JSON.stringify(id.slice(0, 50))}`,
    );
  }
  return Number(id);
}

/** Throws InvalidFieldsError. */
function readStatus(text: string | null): 'success' | 'failure' | undefined {
  if (text === null || text === 'success' || text === 'failure') {
    return text ?? undefined;
  }
  const message = 'must be success or failure';
  refuseInvalid([{ resource: 'Delivery', field: 'status', code: 'invalid', message, value: text }]);
  return undefined;
}
