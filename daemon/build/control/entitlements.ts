import { notImplemented } from '../../base/errors.ts';

/** What a client allows its build beyond the usual. Throws not_implemented for what no build is ever allowed. Pure. */
export function refuseOtherEntitlements(entitlements: readonly string[]): void {
  const entitlement = entitlements.find((name) => name !== 'network.host');
  if (entitlement !== undefined) {
    throw notImplemented(`entitlement ${entitlement} is not supported`);
  }
}
