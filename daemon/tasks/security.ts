import type { ContainerSpec } from '../../api/types/swarm/container-spec.ts';
import { invalidArgument } from '../base/errors.ts';

type Privileges = NonNullable<ContainerSpec['Privileges']>;

/** `Privileges` in the words of a container's `SecurityOpt`. Throws invalid_argument for what none has. Pure. */
export function securityOptions(privileges: Privileges): string[] {
  return [
    ...selinux(privileges.SELinuxContext),
    ...seccomp(privileges.Seccomp),
    ...apparmor(privileges.AppArmor),
    ...(privileges.NoNewPrivileges ? ['no-new-privileges=true'] : []),
  ];
}

function selinux(context: Privileges['SELinuxContext']): string[] {
  if (!context) {
    return [];
  }
  const { Disable, User, Role, Type, Level } = context;
  const parts = { user: User, role: Role, type: Type, level: Level };
  return [
    ...(Disable ? ['label=disable'] : []),
    ...Object.entries(parts).flatMap(([name, value]) => (value ? [`label=${name}:${value}`] : [])),
  ];
}

function seccomp(options: Privileges['Seccomp']): string[] {
  const { Mode = '', Profile = '' } = options ?? {};
  switch (Mode) {
    case '':
    case 'default':
      return [];
    case 'unconfined':
      return ['seccomp=unconfined'];
    case 'custom':
      // Bytes, so base64 in JSON.
      return [`seccomp=${Buffer.from(Profile, 'base64').toString('utf8')}`];
    default:
      throw invalidArgument(`invalid seccomp mode ${JSON.stringify(Mode)}`);
  }
}

function apparmor(options: Privileges['AppArmor']): string[] {
  const { Mode = '' } = options ?? {};
  switch (Mode) {
    case '':
    case 'default':
      return [];
    case 'disabled':
      return ['apparmor=unconfined'];
    default:
      throw invalidArgument(`invalid AppArmor mode ${JSON.stringify(Mode)}`);
  }
}
