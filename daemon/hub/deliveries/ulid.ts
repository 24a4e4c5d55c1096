import { randomBytes } from 'node:crypto';

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

/** Ids that sort in the order in which they were made (ULID): a time, and chance that counts up within one time. */
export class Ulids {
  #lastMs = 0;
  #last = 0n;

  next(nowMs: number): string {
    if (nowMs > this.#lastMs) {
      this.#lastMs = nowMs;
      // The highest bit is left free to count.
      this.#last = BigInt(`0x${randomBytes(10).toString('hex')}`) >> 1n;
    } else {
      this.#last += 1n;
    }
    return digits(BigInt(this.#lastMs), TIME_DIGITS) + digits(this.#last, RANDOM_DIGITS);
  }
}

function digits(value: bigint, count: number): string {
  let text = '';
  for (let rest = value; text.length < count; rest >>= 5n) {
    text = `${DIGITS[Number(rest & 31n)]}${text}`;
  }
  return text;
}
