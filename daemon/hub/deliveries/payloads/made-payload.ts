import { createHmac } from 'node:crypto';
import { limits } from '../../../base/limits.ts';
import { packed } from '../packing.ts';

/** A payload, with what is made of it once for all hooks that are told the same. */
export class MadePayload {
  /** JSON. */
  readonly text: string;
  #bytes: Buffer | undefined;
  #packed: Buffer | undefined;
  readonly #signatures = new Map<string, Readonly<Record<string, string>>>();

  constructor(text: string) {
    this.text = text;
  }

  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.text);
    return this.#bytes;
  }

  /** As the log keeps it. */
  get packed(): Buffer {
    this.#packed ??= packed(this.text);
    return this.#packed;
  }

  /** Headers over its bytes. */
  signatures(secret: string | null): Readonly<Record<string, string>> {
    if (secret === null) {
      return {};
    }
    const made = this.#signatures.get(secret) ?? signatures(secret, this.bytes);
    if (this.#signatures.size < limits.hubHooksOfRepositoryMax) {
      this.#signatures.set(secret, made);
    }
    return made;
  }
}

/** Over the bytes as they are sent: of a form too (GitHub: validating webhook deliveries). */
export function signatures(secret: string | null, body: Buffer): Record<string, string> {
  return secret === null
    ? {}
    : {
        'X-Hub-Signature': `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`,
        'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      };
}
