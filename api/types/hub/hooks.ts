/** GitHub: `hook`. */
export interface HubHook {
  type: 'Repository';
  id: number;
  name: 'web';
  active: boolean;
  events: readonly string[];
  config: HubHookConfig;
  updated_at: string;
  created_at: string;
  url: string;
  test_url: string;
  ping_url: string;
  deliveries_url: string;
  last_response: HubLastResponse;
}

/** GitHub: `webhook-config`. */
export interface HubHookConfig {
  url: string;
  content_type: 'json' | 'form';
  insecure_ssl: '0' | '1';
  /** Asterisks; absent = there is none. */
  secret?: string;
}

/** GitHub: `hook-response`. */
export interface HubLastResponse {
  code: number | null;
  status: string;
  message: string | null;
}

/** GitHub: `hook-delivery-item`. */
export interface HubDeliveryItem {
  id: number;
  guid: string;
  delivered_at: string;
  redelivery: boolean;
  /** Seconds. */
  duration: number;
  status: string;
  status_code: number;
  event: string;
  action: string | null;
  installation_id: null;
  repository_id: number;
  throttled_at: null;
}

/** GitHub: `hook-delivery`. */
export interface HubDelivery extends HubDeliveryItem {
  url: string;
  request: { headers: Readonly<Record<string, string>>; payload: Readonly<Record<string, unknown>> | null };
  response: { headers: Readonly<Record<string, string>>; payload: string };
}

export interface HookConfigRequest {
  url?: string;
  content_type?: 'json' | 'form';
  secret?: string;
  insecure_ssl?: '0' | '1' | 0 | 1;
}

export interface HookCreateRequest {
  name?: 'web';
  config?: HookConfigRequest;
  events?: readonly string[];
  active?: boolean;
}

export interface HookEditRequest {
  config?: HookConfigRequest;
  events?: readonly string[];
  add_events?: readonly string[];
  remove_events?: readonly string[];
  active?: boolean;
}

/** Which deliveries are asked for. */
export interface DeliveryListRequest {
  perPage: number;
  /** `v1_<id>`: the first of the page. */
  cursor: string | undefined;
  status: 'success' | 'failure' | undefined;
}

/** Newest first, with the cursors of the other pages. */
export interface DeliveryPage {
  items: HubDeliveryItem[];
  next: string | undefined;
  prev: string | undefined;
}

/** Webhooks of repositories, and what was delivered. `{hook}` is an id. */
export interface HubHooksPort {
  list(owner: string, name: string): HubHook[];
  create(owner: string, name: string, request: HookCreateRequest): Promise<HubHook>;
  get(owner: string, name: string, hook: number): HubHook;
  edit(owner: string, name: string, hook: number, request: HookEditRequest): Promise<HubHook>;
  remove(owner: string, name: string, hook: number): Promise<void>;
  config(owner: string, name: string, hook: number): HubHookConfig;
  editConfig(owner: string, name: string, hook: number, request: HookConfigRequest): Promise<HubHookConfig>;
  ping(owner: string, name: string, hook: number): Promise<void>;
  test(owner: string, name: string, hook: number): Promise<void>;
}

export interface HubDeliveriesPort {
  /** Throws invalid_argument for a cursor that is none. */
  list(owner: string, name: string, hook: number, request: DeliveryListRequest): DeliveryPage;
  get(owner: string, name: string, hook: number, delivery: number): HubDelivery;
  /** It is sent again, with the same guid. */
  redeliver(owner: string, name: string, hook: number, delivery: number): Promise<void>;
}
