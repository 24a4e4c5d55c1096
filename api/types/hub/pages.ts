import type { HubSession } from './ports.ts';

/** What the hub's pages need of the hub beside sessions. */
export interface HubPagesPort {
  /** For the secret of a cookie; undefined, or one that is nobody's: a visit of somebody who is not signed in. */
  visit(secret: string | undefined, address: string): PageVisit;
  /** Throws unauthorized for a wrong name or password, forbidden after too many. */
  signIn(request: SignInRequest): Promise<SignedIn>;
  /** Of whatever is shown. */
  signOut(secret: string): Promise<void>;
  /** What a form carries that was made for this visitor: nobody else can say it. */
  markOf(visitor: string): string;
}

export interface SignInRequest {
  name: string;
  password: string;
  /** Where the request comes from. */
  address: string;
}

/** A secret for the cookie: nobody can ask for it again. */
export interface SignedIn {
  secret: string;
  /** Seconds for which it is good. */
  lifetimeS: number;
}

export interface PageVisit {
  /** Undefined = not signed in. */
  login: string | undefined;
  session: HubSession;
  /** Undefined = the hub has no registry. */
  images: PageImages | undefined;
  /** Undefined = the hub has no webhooks. */
  hooks: PageHooks | undefined;
  /** Another secret in place of the one that was shown, now and then; undefined = it stays. */
  renew(): Promise<SignedIn | undefined>;
}

/** Images of a repository that the caller may see. Throws not_found, forbidden. */
export interface PageImages {
  tags(owner: string, repository: string): readonly PageTag[] | Promise<readonly PageTag[]>;
}

export interface PageTag {
  name: string;
  /** `sha256:...` of the manifest. */
  digest: string;
  mediaType: string;
  /** RFC 3339; null = not known. */
  pushedAt: string | null;
  /** Of an index: what it has; else one of the image, or none. */
  platforms: readonly string[];
  layers: readonly { digest: string; mediaType: string; size: number }[];
}

/** Webhooks of a repository. Throws not_found, forbidden. */
export interface PageHooks {
  list(owner: string, repository: string): readonly PageHook[];
  get(owner: string, repository: string, hook: number): PageHook;
  /** Newest first. */
  deliveries(owner: string, repository: string, hook: number): readonly PageDelivery[];
  delivery(owner: string, repository: string, hook: number, delivery: number): PageDeliveryDetails;
  redeliver(owner: string, repository: string, hook: number, delivery: number): Promise<void>;
}

export interface PageHook {
  id: number;
  active: boolean;
  events: readonly string[];
  config: { url: string; content_type: string; insecure_ssl: string; secret?: string };
  last_response: { code: number | null; status: string; message: string | null };
}

export interface PageDelivery {
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
}

export interface PageDeliveryDetails extends PageDelivery {
  url: string;
  request: { headers: Readonly<Record<string, string>>; payload: Readonly<Record<string, unknown>> | null };
  response: { headers: Readonly<Record<string, string>>; payload: string };
}
