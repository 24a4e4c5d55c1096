import { notImplemented } from '../../base/errors.ts';

const KNOWN: ReadonlySet<string> = new Set(['network.host', 'security.insecure', 'device']);
/** One described device, or those of a kind; without an alias. */
const DEVICE = /^device=[^,]+$/;

/** What a client allows its build beyond the usual. Throws not_implemented for what no build is ever allowed. Pure. */
export function refuseOtherEntitlements(entitlements: readonly string[]): void {
  const entitlement = entitlements.find((name) => !KNOWN.has(name) && !DEVICE.test(name));
  if (entitlement !== undefined) {
    throw notImplemented(`entitlement ${entitlement} is not supported`);
  }
}
