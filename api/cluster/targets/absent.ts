/** What the original has and this does not, by the first part of its path. */
const ABSENT: Readonly<Record<string, string>> = {
  accesslogsubscriptions: 'subscriptions of access logs',
  authpolicy: 'access policies',
  'domain-verifications': 'custom domains',
  resourceconfigurations: 'resource configurations',
  resourceendpointassociations: 'resource configurations',
  resourcegateways: 'resource gateways',
  resourcepolicy: 'access policies',
  servicenetworkresourceassociations: 'service networks',
  servicenetworks: 'service networks',
  servicenetworkserviceassociations: 'service networks',
  servicenetworkvpcassociations: 'service networks',
  servicenetworkvpcendpointassociations: 'service networks',
};

/** What is asked for at a path that this does not have and the original has; undefined = it has none either. Pure. */
export function absentAt(path: string): string | undefined {
  const [, first = '', , third, , fifth] = path.split('/');
  if (first === 'services' && third === 'listeners' && fifth === 'rules') {
    return 'rules of listeners';
  }
  return Object.hasOwn(ABSENT, first) ? ABSENT[first] : undefined;
}
