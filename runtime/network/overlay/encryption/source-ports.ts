/**
 * UDP source ports of VXLAN: those of encrypted networks are others than those of all others. So the kernel's policy
 * tells them apart where a packet finds its way, also when another program has flushed the firewall.
 */
export const ENCRYPTED_SOURCES = { value: 0xc000, mask: 0xe000 } as const;

/** First and last port. A flow has one of them by its hash. */
export function sourcePorts(isEncrypted: boolean): { first: number; last: number } {
  return isEncrypted ? { first: 0xc000, last: 0xdfff } : { first: 0xe000, last: 0xffff };
}
