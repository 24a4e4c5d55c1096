/** Where a parameter of an operation goes, and how it is written on the command line. */
export interface Parameter {
  /** Of the input's JSON; its flag is the same with hyphens, `clientToken` is `--client-token`. */
  name: string;
  kind: 'text' | 'integer' | 'structure' | 'map' | 'list' | 'structures';
  where: 'path' | 'query' | 'body';
  isRequired?: true;
}

/** One command of `berthd cluster` on target groups. */
export interface TargetCommand {
  help: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With the names of parameters in braces. */
  path: string;
  parameters: readonly Parameter[];
  /** Its answers have pages. */
  isPaged?: true;
  /** What it answers, for `--generate-cli-skeleton output`. */
  output: object;
}

const GROUP: Parameter = { name: 'targetGroupIdentifier', kind: 'text', where: 'path', isRequired: true };
const SERVICE: Parameter = { name: 'serviceIdentifier', kind: 'text', where: 'path', isRequired: true };
const LISTENER: Parameter = { name: 'listenerIdentifier', kind: 'text', where: 'path', isRequired: true };
const RESOURCE: Parameter = { name: 'resourceArn', kind: 'text', where: 'path', isRequired: true };
const NAME: Parameter = { name: 'name', kind: 'text', where: 'body', isRequired: true };
const TOKEN: Parameter = { name: 'clientToken', kind: 'text', where: 'body' };
const CERTIFICATE: Parameter = { name: 'certificateArn', kind: 'text', where: 'body' };
const TAGS: Parameter = { name: 'tags', kind: 'map', where: 'body' };
const ACTION: Parameter = { name: 'defaultAction', kind: 'structure', where: 'body', isRequired: true };
const PAGES: readonly Parameter[] = [
  { name: 'maxResults', kind: 'integer', where: 'query' },
  { name: 'nextToken', kind: 'text', where: 'query' },
];

const HEALTH_CHECK = {
  enabled: true,
  healthCheckIntervalSeconds: 0,
  healthCheckTimeoutSeconds: 0,
  healthyThresholdCount: 0,
  matcher: { httpCode: '' },
  path: '',
  port: 0,
  protocol: '',
  protocolVersion: '',
  unhealthyThresholdCount: 0,
};
const CONFIG = {
  healthCheck: HEALTH_CHECK,
  ipAddressType: '',
  lambdaEventStructureVersion: '',
  port: 0,
  protocol: '',
  protocolVersion: '',
  vpcIdentifier: '',
};
const GROUP_OUT = { arn: '', config: CONFIG, id: '', name: '', status: '', type: '' };
const CERTIFICATE_OUT = {
  certificateArn: '',
  importedAt: '',
  inUseBy: [''],
  issuer: '',
  lastUpdatedAt: '',
  names: '',
  notAfter: '',
  notBefore: '',
  subject: '',
};
const SERVICE_OUT = { arn: '', certificateArn: '', id: '', name: '', status: '' };
const FORWARD = { forward: { targetGroups: [{ targetGroupIdentifier: '', weight: 0 }] } };
const LISTENER_OUT = {
  arn: '',
  defaultAction: FORWARD,
  id: '',
  name: '',
  port: 0,
  protocol: '',
  serviceId: '',
};
const TARGETS_OUT = {
  successful: [{ id: '', port: 0 }],
  unsuccessful: [{ failureCode: '', failureMessage: '', id: '', port: 0 }],
};

/** How the structures of inputs look, for `--generate-cli-skeleton`. */
export const SKELETONS: Readonly<Record<string, unknown>> = {
  config: CONFIG,
  healthCheck: HEALTH_CHECK,
  defaultAction: FORWARD,
  targets: [{ id: '', port: 0 }],
  tags: { KeyName: '' },
  tagKeys: [''],
};

export const TARGET_COMMANDS: Readonly<Record<string, TargetCommand>> = {
  'create-target-group': {
    help: 'create a target group; it is ACTIVE a moment later',
    method: 'POST',
    path: '/targetgroups',
    parameters: [
      NAME,
      { name: 'type', kind: 'text', where: 'body', isRequired: true },
      { name: 'config', kind: 'structure', where: 'body' },
      TOKEN,
      TAGS,
    ],
    output: GROUP_OUT,
  },
  'get-target-group': {
    help: 'tell a target group, and why it could not be created',
    method: 'GET',
    path: '/targetgroups/{targetGroupIdentifier}',
    parameters: [GROUP],
    output: {
      ...GROUP_OUT,
      createdAt: '',
      failureCode: '',
      failureMessage: '',
      lastUpdatedAt: '',
      serviceArns: [''],
    },
  },
  'list-target-groups': {
    help: 'list target groups',
    method: 'GET',
    path: '/targetgroups',
    parameters: [
      { name: 'targetGroupType', kind: 'text', where: 'query' },
      { name: 'vpcIdentifier', kind: 'text', where: 'query' },
      ...PAGES,
    ],
    isPaged: true,
    output: {
      items: [{ arn: '', id: '', name: '', port: 0, protocol: '', status: '', type: '' }],
      nextToken: '',
    },
  },
  'update-target-group': {
    help: 'change the health check of a target group',
    method: 'PATCH',
    path: '/targetgroups/{targetGroupIdentifier}',
    parameters: [GROUP, { name: 'healthCheck', kind: 'structure', where: 'body', isRequired: true }],
    output: GROUP_OUT,
  },
  'delete-target-group': {
    help: 'delete a target group that no listener forwards to',
    method: 'DELETE',
    path: '/targetgroups/{targetGroupIdentifier}',
    parameters: [GROUP],
    output: { arn: '', id: '', status: '' },
  },
  'register-targets': {
    help: 'register targets: id=ADDRESS,port=NUMBER ...',
    method: 'POST',
    path: '/targetgroups/{targetGroupIdentifier}/registertargets',
    parameters: [GROUP, { name: 'targets', kind: 'structures', where: 'body', isRequired: true }],
    output: TARGETS_OUT,
  },
  'deregister-targets': {
    help: 'deregister targets: they finish what they have begun',
    method: 'POST',
    path: '/targetgroups/{targetGroupIdentifier}/deregistertargets',
    parameters: [GROUP, { name: 'targets', kind: 'structures', where: 'body', isRequired: true }],
    output: TARGETS_OUT,
  },
  'list-targets': {
    help: 'list targets with their status and its reason',
    method: 'POST',
    path: '/targetgroups/{targetGroupIdentifier}/listtargets',
    parameters: [GROUP, { name: 'targets', kind: 'structures', where: 'body' }, ...PAGES],
    isPaged: true,
    output: { items: [{ id: '', port: 0, reasonCode: '', status: '' }], nextToken: '' },
  },
  'list-tags-for-resource': {
    help: 'list tags',
    method: 'GET',
    path: '/tags/{resourceArn}',
    parameters: [RESOURCE],
    output: { tags: { KeyName: '' } },
  },
  'tag-resource': {
    help: 'add tags: KEY=VALUE,...',
    method: 'POST',
    path: '/tags/{resourceArn}',
    parameters: [RESOURCE, { ...TAGS, isRequired: true }],
    output: {},
  },
  'untag-resource': {
    help: 'take tags away by their keys',
    method: 'DELETE',
    path: '/tags/{resourceArn}',
    parameters: [RESOURCE, { name: 'tagKeys', kind: 'list', where: 'query', isRequired: true }],
    output: {},
  },
  'create-service': {
    help: 'create a service: a name for listeners',
    method: 'POST',
    path: '/services',
    parameters: [NAME, CERTIFICATE, TOKEN, TAGS],
    output: SERVICE_OUT,
  },
  'update-service': {
    help: 'give a service another certificate; its listeners of HTTPS show it at once',
    method: 'PATCH',
    path: '/services/{serviceIdentifier}',
    parameters: [SERVICE, { ...CERTIFICATE, isRequired: true }],
    output: SERVICE_OUT,
  },
  'get-service': {
    help: 'tell a service',
    method: 'GET',
    path: '/services/{serviceIdentifier}',
    parameters: [SERVICE],
    output: SERVICE_OUT,
  },
  'list-services': {
    help: 'list services',
    method: 'GET',
    path: '/services',
    parameters: PAGES,
    isPaged: true,
    output: { items: [SERVICE_OUT], nextToken: '' },
  },
  'delete-service': {
    help: 'delete a service that has no listeners',
    method: 'DELETE',
    path: '/services/{serviceIdentifier}',
    parameters: [SERVICE],
    output: SERVICE_OUT,
  },
  'create-listener': {
    help: 'listen at a port, and forward to target groups by their weights',
    method: 'POST',
    path: '/services/{serviceIdentifier}/listeners',
    parameters: [
      SERVICE,
      NAME,
      { name: 'protocol', kind: 'text', where: 'body', isRequired: true },
      { name: 'port', kind: 'integer', where: 'body' },
      ACTION,
      TOKEN,
      TAGS,
    ],
    output: LISTENER_OUT,
  },
  'get-listener': {
    help: 'tell a listener',
    method: 'GET',
    path: '/services/{serviceIdentifier}/listeners/{listenerIdentifier}',
    parameters: [SERVICE, LISTENER],
    output: LISTENER_OUT,
  },
  'list-listeners': {
    help: 'list the listeners of a service',
    method: 'GET',
    path: '/services/{serviceIdentifier}/listeners',
    parameters: [SERVICE, ...PAGES],
    isPaged: true,
    output: { items: [LISTENER_OUT], nextToken: '' },
  },
  'update-listener': {
    help: 'change what a listener does with requests',
    method: 'PATCH',
    path: '/services/{serviceIdentifier}/listeners/{listenerIdentifier}',
    parameters: [SERVICE, LISTENER, ACTION],
    output: LISTENER_OUT,
  },
  'delete-listener': {
    help: 'stop listening',
    method: 'DELETE',
    path: '/services/{serviceIdentifier}/listeners/{listenerIdentifier}',
    parameters: [SERVICE, LISTENER],
    output: { arn: '', id: '' },
  },
  'import-certificate': {
    help: 'bring a certificate for listeners of HTTPS, or a new one in its place: file://cert.pem and so on',
    method: 'POST',
    path: '/certificates',
    parameters: [
      { name: 'certificate', kind: 'text', where: 'body', isRequired: true },
      { name: 'privateKey', kind: 'text', where: 'body', isRequired: true },
      { name: 'certificateChain', kind: 'text', where: 'body' },
      CERTIFICATE,
    ],
    output: { certificateArn: '' },
  },
  'list-certificates': {
    help: 'list certificates, until when they are valid and which services show them',
    method: 'GET',
    path: '/certificates',
    parameters: [],
    output: { items: [CERTIFICATE_OUT] },
  },
  'describe-certificate': {
    help: 'tell a certificate, without its key',
    method: 'GET',
    path: '/certificates/{certificateArn}',
    parameters: [{ ...CERTIFICATE, where: 'path', isRequired: true }],
    output: { ...CERTIFICATE_OUT, certificate: '' },
  },
  'delete-certificate': {
    help: 'delete a certificate that no service shows',
    method: 'DELETE',
    path: '/certificates/{certificateArn}',
    parameters: [{ ...CERTIFICATE, where: 'path', isRequired: true }],
    output: {},
  },
  'create-access-key': {
    help: 'make a pair of keys that signs requests for a user of the hub; the secret is shown this once',
    method: 'POST',
    path: '/accesskeys',
    parameters: [{ name: 'user', kind: 'text', where: 'body', isRequired: true }],
    output: { accessKeyId: '', secretAccessKey: '', user: '' },
  },
  'list-access-keys': {
    help: 'list access keys',
    method: 'GET',
    path: '/accesskeys',
    parameters: [],
    output: { items: [{ accessKeyId: '', createdAt: '', user: '' }] },
  },
  'delete-access-key': {
    help: 'end an access key at once',
    method: 'DELETE',
    path: '/accesskeys/{accessKeyId}',
    parameters: [{ name: 'accessKeyId', kind: 'text', where: 'path', isRequired: true }],
    output: {},
  },
};
