import { rpcError } from './rpc-error.ts';

/** Of services and networks: a label of a domain name, with `_` inside. */
const OBJECT_NAME = /^[a-zA-Z0-9](?:[-_]*[A-Za-z0-9]+)*$/;
const OBJECT_NAME_LENGTH_MAX = 63;
const DATA_NAME = /^[a-zA-Z0-9](?:[a-zA-Z0-9-_.]{0,62}[a-zA-Z0-9])?$/;

/** Throws in swarmkit's words. Pure. */
export function checkObjectName(name: string): void {
  if (name === '') {
    throw rpcError('InvalidArgument', 'meta: name must be provided');
  }
  if (name.length > OBJECT_NAME_LENGTH_MAX) {
    throw rpcError('InvalidArgument', `name must be ${OBJECT_NAME_LENGTH_MAX} characters or fewer`);
  }
  if (!OBJECT_NAME.test(name)) {
    throw rpcError('InvalidArgument', 'name must be valid as a DNS name component');
  }
}

/** Of secrets and configs. Throws in swarmkit's words. Pure. */
export function checkDataName(name: string): void {
  if (!DATA_NAME.test(name)) {
    throw rpcError(
      'InvalidArgument',
      'invalid name, only 64 [a-zA-Z0-9-_.] characters allowed, and the start and end character must be [a-zA-Z0-9]',
    );
  }
}
