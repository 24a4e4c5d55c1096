import { createHash } from 'node:crypto';
import type { Certificate } from './x509/certificate.ts';

/** Part of a certificate's life after which it is renewed. */
const EARLIEST = 0.5;
const LATEST = 0.8;
const RETRY_FIRST_MS = 5_000;
const RETRY_MAX_MS = 3_600_000;
/** The clock may be set during a wait, so no wait is longer than this. */
const LOOK_AGAIN_MS = 3_600_000;

export interface RenewalPlan {
  state: 'valid' | 'due' | 'expired';
  /** How long to wait before renewing (`due`, `expired`) or before asking again (`valid`). */
  waitMs: number;
}

/**
 * When a certificate is to be renewed: at a point of its life that follows from its own bytes, so that nodes that were
 * given theirs at once do not all come back at once, and a restart changes nothing.
 *
 * @param failures Attempts in a row that failed.
 */
export function planRenewal(certificate: Certificate, now: number, failures: number): RenewalPlan {
  const { validUntil } = certificate;
  const moment = renewalMoment(certificate);
  if (now < moment) {
    return { state: 'valid', waitMs: Math.min(moment - now, LOOK_AGAIN_MS) };
  }
  const waitMs = failures === 0 ? 0 : Math.min(RETRY_FIRST_MS * 2 ** (failures - 1), RETRY_MAX_MS);
  return { state: now > validUntil ? 'expired' : 'due', waitMs };
}

/** In milliseconds since 1970. */
export function renewalMoment({ raw, validFrom, validUntil }: Certificate): number {
  const draw = createHash('sha256').update(raw).digest().readUInt32BE() / 2 ** 32;
  return Math.floor(validFrom + (validUntil - validFrom) * (EARLIEST + (LATEST - EARLIEST) * draw));
}
