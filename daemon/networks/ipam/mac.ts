import { invalidArgument } from '../../base/errors.ts';

/**
 * A MAC that a client asked for, `02:42:ac:11:00:09` or with dashes. Throws invalid_argument for anything
 * else.
 */
export function parseMac(text: string): Buffer {
  if (!/^[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$/i.test(text)) {
    throw invalidArgument(`invalid MAC address "${text}": expected six bytes, as in 02:42:ac:11:00:02`);
  }
  const mac = Buffer.from(text.replaceAll(/[:-]/g, ''), 'hex');
  if (((mac[0] ?? 0) & 1) === 1 || mac.every((byte) => byte === 0)) {
    throw invalidArgument(`invalid MAC address "${text}": not the address of a single interface`);
  }
  return mac;
}

export function formatMac(mac: Buffer): string {
  return [...mac].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}
