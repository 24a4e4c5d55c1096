import type { NodeSpec } from '../../../api/types/swarm/node.ts';
import { EngineError, invariant } from '../../../daemon/base/errors.ts';
import type { Identity } from '../../ca/identity.ts';
import type { Method } from '../../rpc/port.ts';
import type { Admission } from './admission.ts';
import type { Authority } from './authority.ts';
import type { Issuing } from './issuing.ts';

/** What membership answers other nodes. */
export function membershipMethods({
  authority,
  issuing,
  admission,
}: {
  authority: Authority;
  issuing: Issuing;
  admission: Admission;
}): Method[] {
  return [
    // A joining node believes it when its digest is that of its token.
    {
      name: 'ca.root',
      allowed: 'anyone',
      kind: 'call',
      handle: async () => ({ rootsPem: authority.root().certPem }),
    },
    {
      name: 'ca.issue',
      allowed: 'anyone',
      kind: 'call',
      handle: (body, caller) => {
        const { requestPem, token, availability } = fieldsOf(body);
        return issuing.issue(
          {
            requestPem: textOf(requestPem),
            ...(token === undefined ? {} : { token: textOf(token) }),
            ...(availability === undefined ? {} : { availability: availabilityOf(availability) }),
          },
          caller,
        );
      },
    },
    { name: 'manager.ping', allowed: 'manager', kind: 'call', handle: () => admission.checkStore() },
    {
      name: 'manager.join',
      allowed: 'manager',
      kind: 'call',
      handle: (body, { identity }, signal) => {
        const { peerUrl, requestPem } = fieldsOf(body);
        return admission.join(
          { peerUrl: textOf(peerUrl), requestPem: textOf(requestPem) },
          known(identity),
          signal,
        );
      },
    },
    {
      name: 'manager.promote',
      allowed: 'manager',
      kind: 'call',
      handle: async (body, { identity }, signal) => {
        await admission.promote(textOf(fieldsOf(body)['memberId']), known(identity), signal);
        return true;
      },
    },
  ];
}

function known(identity: Identity | undefined): Identity {
  invariant(identity !== undefined, 'whoever may call as a manager has an identity');
  return identity;
}

function fieldsOf(body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null) {
    throw new EngineError('invalid_argument', 'a call between nodes has an object as its value');
  }
  // Every field is looked at as unknown.
  return body as Record<string, unknown>;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') {
    throw new EngineError('invalid_argument', 'a call between nodes lacks a text');
  }
  return value;
}

function availabilityOf(value: unknown): NodeSpec['Availability'] {
  if (value !== 'active' && value !== 'pause' && value !== 'drain') {
    throw new EngineError('invalid_argument', `invalid Availability: ${JSON.stringify(value)}`);
  }
  return value;
}
