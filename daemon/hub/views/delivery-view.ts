import type { HubDelivery, HubDeliveryItem } from '../../../api/types/hub/hooks.ts';
import type { Delivery, DeliverySummary } from '../deliveries/delivery.ts';
import { timeText } from './times.ts';

export function deliveryItem(delivery: DeliverySummary): HubDeliveryItem {
  return {
    id: delivery.id,
    guid: delivery.guid,
    delivered_at: timeText(delivery.deliveredMs),
    redelivery: delivery.isRedelivery,
    duration: Math.round(delivery.durationMs) / 1000,
    status: delivery.outcome.status,
    status_code: delivery.outcome.code,
    event: delivery.event,
    action: delivery.action,
    installation_id: null,
    repository_id: delivery.repository,
    throttled_at: null,
  };
}

export function deliveryView(delivery: Delivery): HubDelivery {
  const { request, response, url } = delivery;
  // What was sent is always an object of JSON; where nothing was, it is empty.
  const payload = JSON.parse(
    request.payload === '' ? 'null' : request.payload,
  ) as HubDelivery['request']['payload'];
  return { ...deliveryItem(delivery), url, request: { headers: request.headers, payload }, response };
}
