import type { HubCollaborator } from '../../../api/types/hub/collaborator.ts';
import type { User } from '../identity/account.ts';
import { covers, type RepositoryRole } from '../repositories/access.ts';
import { simpleUser } from './account-view.ts';
import type { Addresses } from './addresses.ts';

export function collaboratorView(user: User, role: RepositoryRole, addresses: Addresses): HubCollaborator {
  const admin = role === 'admin';
  return {
    ...simpleUser(user, addresses),
    permissions: {
      admin,
      maintain: admin,
      push: covers(role, 'write'),
      triage: covers(role, 'write'),
      pull: true,
    },
    role_name: role,
  };
}
