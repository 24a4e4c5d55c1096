/** dockerd's key of overlay networks: that it is there counts, whatever its value says. */
export const ENCRYPTED_OPTION = 'encrypted';

export function isEncrypted(options: Readonly<Record<string, string>>): boolean {
  return Object.hasOwn(options, ENCRYPTED_OPTION);
}
