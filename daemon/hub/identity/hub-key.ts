import { randomBytes } from 'node:crypto';
import { Collection } from '../records/collection.ts';
import type { Mirror } from '../records/mirror.ts';

/** The key by which the hub signs what it gives away and gets back: links, marks of forms. Record `secret/key`. */
export async function openHubKey(mirror: Mirror): Promise<Buffer> {
  const secrets = new Collection<{ key: string }>(mirror, 'secret/');
  const found = await mirror.change(() => {
    const known = secrets.get('key');
    const made = known ?? { key: randomBytes(32).toString('base64') };
    return { changes: known === undefined ? [secrets.put('key', made)] : [], answer: made };
  });
  return Buffer.from(found.key, 'base64');
}
