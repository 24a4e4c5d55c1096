import { isIP } from 'node:net';
import type { Fields } from '../input/fields.ts';
import type { TargetGroup } from '../groups/target-group.ts';

/** A target as a request names it. */
export interface NamedTarget {
  id: string;
  port: number | undefined;
}

const TARGETS_OF_REQUEST_MAX = 100;

/** The field `targets`. Throws InvalidFieldsError. */
export function readTargets(fields: Fields, max = TARGETS_OF_REQUEST_MAX): NamedTarget[] {
  fields.only('targets');
  const elements = fields.elements('targets', 1, max);
  const targets = elements.map((element) => {
    element.only('id', 'port');
    const id = element.required('id', (name) =>
      element.text(name, { max: 200, must: 'must have 1 to 200 characters' }),
    );
    return { id: id ?? '', port: element.integer('port', 1, 65_535) };
  });
  fields.refuse();
  return targets;
}

export interface TargetRefusal {
  failureCode: string;
  failureMessage: string;
}

/** Whether a target can be one of a group, by the group's type; undefined = it can. Pure. */
export function targetProblem({ id, port }: NamedTarget, group: TargetGroup): TargetRefusal | undefined {
  if (group.type === 'IP') {
    return addressProblem(id, group.config.ipAddressType === 'IPV6' ? 6 : 4);
  }
  if (group.type === 'LAMBDA') {
    if (port !== undefined) {
      return refusal('InvalidPort', `an image has no port, not ${port}`);
    }
    return /^[a-zA-Z0-9][\w./:@-]*$/.test(id)
      ? undefined
      : refusal('InvalidTarget', `must be the name or id of an image, not ${JSON.stringify(id)}`);
  }
  return /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(id)
    ? undefined
    : refusal('InvalidTarget', `must be ${WHAT[group.type]}, not ${JSON.stringify(id)}`);
}

const WHAT = {
  INSTANCE: 'the name or id of a container, a task or a node',
  ALB: 'the name or id of a service of the swarm',
} as const;

/** Addresses of nobody, of many, of this link only, and those of IPv4 that are written as of IPv6. */
const NO_HOST = {
  4: /^(0\.|255\.255\.255\.255$|22[4-9]\.|23\d\.|169\.254\.)/,
  6: /^(::$|::ffff:|ff|fe[89ab])/,
} as const;

function addressProblem(id: string, version: 4 | 6): TargetRefusal | undefined {
  if (isIP(id) !== version || id.includes('%')) {
    return refusal('InvalidTarget', `must be an IPv${version} address, not ${JSON.stringify(id)}`);
  }
  // An address of IPv6 has many spellings, and some of them are of IPv4.
  const text = version === 4 ? id : new URL(`http://[${id}]`).hostname.slice(1, -1);
  return NO_HOST[version].test(text)
    ? refusal('InvalidTarget', `must be the address of one host, not ${id}`)
    : undefined;
}

export function refusal(failureCode: string, failureMessage: string): TargetRefusal {
  return { failureCode, failureMessage };
}
