import { errnoOf } from '../errors.ts';

/** Go's words for the failure of a connection: dockerd's messages have them, and scripts search for them. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'i/o timeout',
  EPIPE: 'broken pipe',
};
/** getaddrinfo(3). */
const LOOKUP_WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'temporary failure in name resolution',
  ETIMEDOUT: 'i/o timeout',
};

/**
 * Why a request could not be sent, as dockerd says it: `dial tcp 127.0.0.1:5000: connect: connection refused`, `dial
 * tcp: lookup registry.example.com: no such host`. Others keep the words they have. Pure.
 */
export function networkWords(failure: Error): string {
  // Of a name with several addresses all have failed; the error itself says nothing then (net.connect).
  const error = failure instanceof AggregateError ? firstError(failure) : failure;
  const code = errnoOf(error) ?? '';
  // SystemError's fields (Node.js, "Errors"), where the failure is one.
  const { syscall, address, port, hostname } = error as NodeJS.ErrnoException & {
    address?: string;
    port?: number;
    hostname?: string;
  };
  const lookup = LOOKUP_WORDS[code];
  if (lookup !== undefined && hostname !== undefined) {
    return `dial tcp: lookup ${hostname}: ${lookup}`;
  }
  const words = WORDS[code];
  if (words === undefined) {
    return error.message;
  }
  return syscall === 'connect' && address !== undefined && port !== undefined
    ? `dial tcp ${address.includes(':') ? `[${address}]` : address}:${port}: connect: ${words}`
    : `${error.message === '' ? '' : `${error.message}: `}${words}`;
}

function firstError({ errors, message }: AggregateError): Error {
  const [first]: unknown[] = errors;
  return first instanceof Error ? first : new Error(message);
}
