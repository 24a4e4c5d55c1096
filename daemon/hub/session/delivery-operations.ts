import type {
  DeliveryListRequest,
  DeliveryPage,
  HubDeliveriesPort,
  HubDelivery,
} from '../../../api/types/hub/hooks.ts';
import { invalidArgument } from '../../base/errors.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import type { Hook } from '../hooks/hook.ts';
import type { Caller } from '../identity/caller.ts';
import { deliveryItem, deliveryView } from '../views/delivery-view.ts';
import { NEEDS } from './needs.ts';
import { hidden } from './refusals.ts';
import type { SessionDeps } from './session-deps.ts';

/** What was delivered to webhooks of the repositories that the caller administers. */
export class DeliveryOperations implements HubDeliveriesPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  list(owner: string, name: string, id: number, request: DeliveryListRequest): DeliveryPage {
    const hook = this.#hook(owner, name, id, 'readHooks');
    const { perPage, cursor, status } = request;
    const from = cursor === undefined ? undefined : readCursor(cursor);
    const query = { hook: hook.id, ...(status && { status }) };
    // One more, which is the first of the next page.
    const found = this.#deps.deliveries.list({
      ...query,
      limit: perPage + 1,
      ...(from !== undefined && { from }),
    });
    const before =
      from === undefined ? [] : this.#deps.deliveries.newer({ ...query, than: from, limit: perPage });
    return {
      items: found.slice(0, perPage).map(deliveryItem),
      next: cursorOf(found[perPage]?.id),
      prev: cursorOf(before.at(-1)),
    };
  }

  get(owner: string, name: string, id: number, delivery: number): HubDelivery {
    return deliveryView(this.#delivery(this.#hook(owner, name, id, 'readHooks'), delivery));
  }

  async redeliver(owner: string, name: string, id: number, delivery: number): Promise<void> {
    const hook = this.#hook(owner, name, id, 'writeHooks');
    await this.#deps.intents.again(hook, this.#delivery(hook, delivery));
  }

  #hook(owner: string, name: string, id: number, need: 'readHooks' | 'writeHooks'): Hook {
    const repository = this.#deps.grants.granted(this.#caller, { owner, name }, NEEDS[need]);
    return this.#deps.hooks.get(repository, id);
  }

  #delivery(hook: Hook, id: number): Delivery {
    const delivery = this.#deps.deliveries.get(hook.id, id);
    if (delivery === undefined) {
      throw hidden();
    }
    return delivery;
  }
}

function cursorOf(id: number | undefined): string | undefined {
  return id === undefined ? undefined : `v1_${id}`;
}

/** Throws invalid_argument. */
function readCursor(cursor: string): number {
  const [, id] = /^v1_([1-9]\d{0,14})$/.exec(cursor) ?? [];
  if (id === undefined) {
    throw invalidArgument(
      `cursor: must be one that the header Link gave, not ${JSON.stringify(cursor.slice(0, 50))}`,
    );
  }
  return Number(id);
}
