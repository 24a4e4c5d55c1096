/** `2026-01-02T03:04:05`: what two lines of the same second share. */
const SECOND_BYTES = 19;

/**
 * Reads the time stamps of consecutive records. Most share their second and zone with the record before, so the date
 * is parsed once a second and only the fraction for each line.
 */
export class TimestampReader {
  #second = '';
  #zone = '';
  #secondNano = 0n;
  /** `2026-01-02T03:04:05` in UTC. */
  #secondUtc = '';

  /** Nanoseconds since the epoch; undefined when it is no time. */
  nano(buffer: Buffer, start: number, end: number): bigint | undefined {
    const fraction = this.#load(buffer, start, end);
    return fraction === undefined
      ? undefined
      : this.#secondNano + BigInt(fraction.padEnd(9, '0').slice(0, 9));
  }

  /** As the API prints it: RFC 3339 in UTC with nine digits. Undefined when it is no time. */
  text(buffer: Buffer, start: number, end: number): string | undefined {
    const fraction = this.#load(buffer, start, end);
    return fraction === undefined ? undefined : `${this.#secondUtc}.${fraction.padEnd(9, '0').slice(0, 9)}Z`;
  }

  /** Makes the second of this time stamp current and returns its fraction's digits. */
  #load(buffer: Buffer, start: number, end: number): string | undefined {
    const text = buffer.toString('latin1', start, end);
    const second = text.slice(0, SECOND_BYTES);
    const zoneAt = zoneStart(text);
    const zone = text.slice(zoneAt);
    if (second !== this.#second || zone !== this.#zone) {
      const millis = Date.parse(second + zone);
      if (Number.isNaN(millis)) {
        return undefined;
      }
      this.#second = second;
      this.#zone = zone;
      this.#secondNano = BigInt(millis) * 1_000_000n;
      this.#secondUtc = new Date(millis).toISOString().slice(0, SECOND_BYTES);
    }
    const fraction = text.slice(SECOND_BYTES + 1, zoneAt);
    return /^\d*$/.test(fraction) ? fraction : undefined;
  }
}

function zoneStart(text: string): number {
  return text.endsWith('Z') ? text.length - 1 : text.length - '+00:00'.length;
}
