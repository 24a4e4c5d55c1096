import { notImplemented } from '../../base/errors.ts';

const KNOWN: ReadonlySet<string> = new Set(['network.host', 'security.insecure']);

/** What a client allows its build beyond the usual. Throws not_implemented for what no build is ever allowed. Pure. */
export function refuseOtherEntitlements(entitlements: readonly string[]): void {
  const entitlement = entitlements.find((name) => !KNOWN.has(name));
  if (entitlement !== undefined) {
    throw notImplemented(`entitlement ${entitlement} is not supported`);
  }
}
