import type { NodeDescription } from '../../api/types/swarm/node.ts';
import type { PortConfig } from '../../api/types/swarm/service.ts';
import { parseAnyCidr } from '../../daemon/base/addresses/ip.ts';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { isTaskState, TaskState } from '../objects/task-state.ts';
import type { ReportedStatus } from '../leader/ports.ts';

/** What nodes send, taken apart: one of them may be in other hands. Throws invalid_argument. */

type Fields = Record<string, unknown>;

export function fieldsOf(body: unknown, what: string): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidArgument(`${what} is no object`);
  }
  // It has just been found to be an object.
  return body as Fields;
}

export function textOf(fields: Fields, name: string): string {
  const value = own(fields, name);
  if (typeof value !== 'string') {
    throw invalidArgument(`${name} is no text`);
  }
  return value;
}

/** Undefined where it is left out or empty. */
export function maybeTextOf(fields: Fields, name: string): string | undefined {
  return own(fields, name) === undefined ? undefined : textOf(fields, name) || undefined;
}

export function descriptionOf(fields: Fields): NodeDescription {
  const description = fieldsOf(own(fields, 'description'), 'the description of a node');
  const bytes = Buffer.byteLength(JSON.stringify(description));
  if (bytes > limits.swarmDescriptionBytesMax) {
    throw invalidArgument(
      `the description of a node has ${bytes} bytes: at most ${limits.swarmDescriptionBytesMax} are taken`,
    );
  }
  // What of it is used is read with care: it was checked to be an object of bounded size.
  return description;
}

/** Those that are none are left out: they only say what to keep off. */
export function subnetsOf(fields: Fields): string[] {
  const subnets = own(fields, 'subnets');
  return Array.isArray(subnets)
    ? subnets
        .slice(0, limits.swarmNodeSubnetsMax)
        .filter((text) => typeof text === 'string' && parseAnyCidr(text) !== undefined)
    : [];
}

export function statusesOf(fields: Fields): ReportedStatus[] {
  const statuses = own(fields, 'statuses');
  if (!Array.isArray(statuses)) {
    throw invalidArgument('statuses are no list');
  }
  return statuses.map((status: unknown) => statusOf(fieldsOf(status, 'a status')));
}

/** Only states that are a node's to report; only fields that are known. */
function statusOf(fields: Fields): ReportedStatus {
  const state = own(fields, 'state');
  if (!isTaskState(state) || state < TaskState.assigned || state > TaskState.rejected) {
    throw invalidArgument('the state of a task is none that a node reports');
  }
  const error = own(fields, 'error');
  const container = own(fields, 'container');
  const ports = own(fields, 'ports');
  return {
    id: textOf(fields, 'id'),
    state,
    message: cut(textOf(fields, 'message')),
    ...(typeof error === 'string' && error !== '' ? { error: cut(error) } : {}),
    ...(container === undefined ? {} : { container: containerOf(fieldsOf(container, 'a container')) }),
    ...(Array.isArray(ports) ? { ports: ports.slice(0, limits.swarmStatusPortsMax).map(portOf) } : {}),
  };
}

function containerOf(fields: Fields): NonNullable<ReportedStatus['container']> {
  const [pid, exitCode] = [own(fields, 'pid'), own(fields, 'exitCode')];
  return {
    id: cut(textOf(fields, 'id')),
    ...(isWhole(pid) ? { pid } : {}),
    ...(isWhole(exitCode) ? { exitCode } : {}),
  };
}

function portOf(port: unknown): PortConfig {
  const fields = fieldsOf(port, 'a port');
  const name = own(fields, 'Name');
  const protocol = own(fields, 'Protocol');
  const [target, published] = [own(fields, 'TargetPort'), own(fields, 'PublishedPort')];
  return {
    ...(typeof name === 'string' ? { Name: cut(name) } : {}),
    ...(protocol === 'tcp' || protocol === 'udp' || protocol === 'sctp' ? { Protocol: protocol } : {}),
    ...(isWhole(target) ? { TargetPort: target } : {}),
    ...(isWhole(published) ? { PublishedPort: published } : {}),
    PublishMode: own(fields, 'PublishMode') === 'ingress' ? 'ingress' : 'host',
  };
}

function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function cut(text: string): string {
  return text.slice(0, limits.swarmStatusTextMax);
}
