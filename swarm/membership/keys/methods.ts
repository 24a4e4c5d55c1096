import { EngineError } from '../../../daemon/base/errors.ts';
import { encodeKeyring } from '../../ca/keys/key-file.ts';
import type { Method } from '../../rpc/port.ts';
import { Keyring } from '../../store/sealed.ts';
import type { DataKeys } from './data-keys.ts';

/** What managers ask each other about the store's keys. */
export function keyMethods(keys: DataKeys): Method[] {
  return [
    {
      name: 'manager.keys',
      allowed: 'manager',
      kind: 'call',
      handle: async () => ({ keyring: encodeKeyring(keys.known).toString('base64') }),
    },
    {
      name: 'manager.keep-key',
      allowed: 'manager',
      kind: 'call',
      handle: async (body) => {
        // What `DataKeys` sends; each field is looked at.
        const { id, secret } = body as { id: unknown; secret: unknown };
        if (typeof id !== 'number' || typeof secret !== 'string') {
          throw new EngineError('invalid_argument', 'a data key has a number and a secret');
        }
        const key = { id, secret: Buffer.from(secret, 'base64') };
        // A keyring takes no key that is not one.
        await keys.keep(new Keyring([key]).keys[0] ?? key);
        return true;
      },
    },
  ];
}
