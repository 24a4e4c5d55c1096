import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { conflict, notFound } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { Fields } from '../input/fields.ts';
import { newResourceId } from '../input/identifiers.ts';
import { targetLimits } from '../limits.ts';
import type { TargetStore } from '../store/port.ts';
import { Table } from '../store/table.ts';
import { verifySignature } from './verify.ts';
import type { SignedParts } from './canonical-request.ts';

/** A pair of keys that signs requests for a user. Record `target-key/<id>`; its secret is stored nowhere. */
interface AccessKey {
  id: string;
  user: string;
  createdMs: number;
}

export interface AccessKeysDeps {
  store: TargetStore;
  clock: Clock;
}

/** The key by which secrets are derived. */
const MASTER = 'master';

/**
 * Access keys for clients that sign. A secret is HMAC-SHA256 of the key's id by a key that the records hold: to verify
 * a signature takes the secret itself, and so none needs to be kept.
 */
export class AccessKeys {
  readonly #deps: AccessKeysDeps;
  readonly #keys: Table<AccessKey>;
  readonly #secrets: Table<{ key: string }>;

  constructor(deps: AccessKeysDeps) {
    this.#deps = deps;
    this.#keys = new Table(deps.store, 'target-key/');
    this.#secrets = new Table(deps.store, 'target-secret/');
  }

  /** Answers the secret, this once. Throws InvalidFieldsError, conflict past `accessKeysMax`. */
  async create(body: unknown): Promise<object> {
    const fields = new Fields(body, 'AccessKey');
    fields.only('user');
    const user = fields.required('user', (name) =>
      fields.text(name, {
        max: 39,
        pattern: /^[A-Za-z0-9][A-Za-z0-9-]*$/,
        must: 'must be the name of a user',
      }),
    );
    fields.refuse();
    const id = newResourceId('BK').toUpperCase();
    const createdMs = this.#nowMs();
    const fresh = randomBytes(32).toString('base64');
    const master = await this.#deps.store.change(() => {
      if (this.#keys.count() >= targetLimits.accessKeysMax) {
        throw conflict(`there are ${targetLimits.accessKeysMax} access keys, as many as there may be`);
      }
      const known = this.#secrets.get(MASTER);
      failpoint('targets.key.write');
      return {
        changes: [
          this.#keys.put(id, { id, user: user ?? '', createdMs }),
          ...(known === undefined ? [this.#secrets.put(MASTER, { key: fresh })] : []),
        ],
        answer: known?.key ?? fresh,
      };
    });
    return { accessKeyId: id, secretAccessKey: derived(master, id), user };
  }

  list(): object {
    return {
      items: this.#keys.below().map(({ id, user, createdMs }) => ({
        accessKeyId: id,
        user,
        createdAt: new Date(createdMs).toISOString(),
      })),
    };
  }

  /** Requests that it signs are refused from now on. Throws not_found. */
  async remove(id: string): Promise<object> {
    return await this.#deps.store.change(() => {
      if (this.#keys.get(id) === undefined) {
        throw notFound(`there is no access key ${id}`, {
          details: { resourceId: id, resourceType: 'ACCESS_KEY' },
        });
      }
      failpoint('targets.key.delete');
      return { changes: [this.#keys.delete(id)], answer: {} };
    });
  }

  /** The user whose key has signed a request. Throws forbidden, as {@link verifySignature}. */
  userOf(parts: SignedParts): string {
    const id = verifySignature(parts, this.#nowMs(), (key) => this.#secretOf(key));
    return this.#keys.get(id)?.user ?? '';
  }

  #secretOf(id: string): string | undefined {
    const master = this.#secrets.get(MASTER)?.key;
    return this.#keys.get(id) === undefined || master === undefined ? undefined : derived(master, id);
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

function derived(master: string, id: string): string {
  return createHmac('sha256', Buffer.from(master, 'base64')).update(id).digest('base64url').slice(0, 40);
}
