import type { InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';

const RESOURCE = 'OAuthApplication';

export interface Addresses {
  name: string;
  domain: string;
  redirectUri: string;
  privacyUrl: string | null;
  termsUrl: string | null;
}

/**
 * What is wrong with a new application's name and addresses. `isHubPlain`: the hub itself has plain HTTP, so that
 * others may; else only programs on the user's own machine may (RFC 9700, 2.6). Pure.
 */
export function addressProblems(
  { name, domain, redirectUri, privacyUrl, termsUrl }: Addresses,
  isHubPlain: boolean,
): (InvalidField | undefined)[] {
  return [
    name.trim() !== '' && name.length <= limits.hubOAuthNameMax
      ? undefined
      : wrong('name', `must have 1 to ${limits.hubOAuthNameMax} characters`, name),
    addressProblem('domain', domain, isHubPlain),
    addressProblem('redirect_uri', redirectUri, isHubPlain) ?? placeProblem(redirectUri, domain),
    privacyUrl === null ? undefined : addressProblem('privacy_url', privacyUrl, true),
    termsUrl === null ? undefined : addressProblem('terms_url', termsUrl, true),
  ];
}

function addressProblem(field: string, text: string, mayBePlain: boolean): InvalidField | undefined {
  const url = text.length <= limits.hubUrlMax && URL.canParse(text) ? new URL(text) : undefined;
  // What a browser reads another way than it is written is no address to compare with.
  const isClean = url !== undefined && /^https?:\/\/[^\s\\@#]+$/.test(text) && url.username === '';
  if (!isClean) {
    return wrong(
      field,
      'must be an address http:// or https://, without a fragment and without a password',
      text,
    );
  }
  return url.protocol === 'https:' || mayBePlain || isLoopback(url.hostname)
    ? undefined
    : wrong(field, 'must be an address https://, or one of this machine', text);
}

/** "Must be on the same domain as Domain" (seed 002 A): the same host and scheme, at any port and path. */
function placeProblem(redirectUri: string, domain: string): InvalidField | undefined {
  if (!URL.canParse(domain)) {
    return undefined;
  }
  const [one, other] = [new URL(redirectUri), new URL(domain)];
  return one.hostname === other.hostname && one.protocol === other.protocol
    ? undefined
    : wrong('redirect_uri', `must be on the domain of the application, ${other.origin}`, redirectUri);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

function wrong(field: string, message: string, value: string): InvalidField {
  return { resource: RESOURCE, field, code: 'invalid', message, value };
}
