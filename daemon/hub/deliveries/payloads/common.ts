import { unreachable } from '../../../base/errors.ts';
import type { Actor } from '../../occurrences/occurrence.ts';
import type { Repository } from '../../repositories/repository.ts';
import { simpleOrganization, simpleUser } from '../../views/account-view.ts';
import type { Addresses } from '../../views/addresses.ts';
import { repositoryView } from '../../views/repository-view.ts';

/** A payload: GitHub's schemas say what is in it (webhook events and payloads). */
export type Payload = Readonly<Record<string, unknown>>;

/** Who did it: root and those who did not sign in have no account. */
export function senderView(actor: Actor, addresses: Addresses): Payload {
  switch (actor.kind) {
    case 'user':
      return { ...simpleUser(actor, addresses) };
    case 'application': {
      const name = `${actor.name}[bot]`;
      return { ...simpleUser({ kind: 'user', id: actor.id, name }, addresses), type: 'Bot' };
    }
    case 'root':
    case 'anonymous':
      return { ...simpleUser({ kind: 'user', id: 0, name: actor.kind }, addresses) };
    default:
      return unreachable(actor);
  }
}

/** What every payload says of where it comes from. */
export function origin(repository: Repository, actor: Actor, addresses: Addresses): Payload {
  const { permissions: _, ...view } = repositoryView(
    repository,
    { admin: false, push: false, pull: true },
    addresses,
  );
  return {
    repository: { ...view, topics: [] },
    ...(repository.owner.kind === 'organization' && {
      organization: simpleOrganization(repository.owner, addresses),
    }),
    sender: senderView(actor, addresses),
  };
}
