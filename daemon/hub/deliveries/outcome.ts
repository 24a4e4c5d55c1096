import type { Outcome } from './delivery.ts';

/** Why nothing was answered. */
export type SendFailure = 'resolve' | 'connect' | 'timeout' | 'certificate' | 'refused-address' | 'too-large';

const FAILURES: Readonly<Record<SendFailure, Outcome>> = {
  resolve: { status: 'failed to connect to host', code: 502, hookStatus: 'misconfigured' },
  connect: { status: 'failed to connect to network', code: 502, hookStatus: 'misconfigured' },
  timeout: { status: 'timed out', code: 504, hookStatus: 'timeout' },
  certificate: {
    status: 'Peer certificate cannot be authenticated with given CA certificates',
    code: 502,
    hookStatus: 'misconfigured',
  },
  'refused-address': { status: 'URL host is not supported', code: 502, hookStatus: 'misconfigured' },
  'too-large': { status: 'payload is too large', code: 502, hookStatus: 'misconfigured' },
};

export function failed(failure: SendFailure): Outcome {
  return FAILURES[failure];
}

/** Of an answer. A redirect is one, and is not followed. */
export function answered(code: number): Outcome {
  if (code >= 200 && code < 300) {
    return { status: 'OK', code, hookStatus: 'active' };
  }
  const status = `Invalid HTTP Response: ${code}`;
  return { status, code, hookStatus: code === 404 || code === 410 ? 'missing' : 'invalid' };
}

/** What an error of Node.js on the way to a receiver means. */
export function failureOf(error: unknown): SendFailure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === REFUSED_ADDRESS) {
    return 'refused-address';
  }
  if (['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENODATA', 'ESERVFAIL'].includes(code)) {
    return 'resolve';
  }
  if (code === 'ABORT_ERR' || code === 'ETIMEDOUT') {
    return 'timeout';
  }
  const isCertificate =
    /^(ERR_TLS_CERT|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/.test(
      code,
    );
  return isCertificate ? 'certificate' : 'connect';
}

/** Code of the error of an address that deliveries may not go to. */
export const REFUSED_ADDRESS = 'ERR_BERTH_ADDRESS';
