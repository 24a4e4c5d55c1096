import { hostFieldNames } from './container-create.ts';
import { isObject, objectAt } from '../versions/json.ts';

/**
 * The other spellings that every version of POST /containers/create takes, made one, in place, before validation:
 * `Cmd` and its like as one string, StopSignal as a number, "unset" as -1 or 0, and the network named "default".
 */
export function prepareContainerCreate(body: unknown): unknown {
  if (!isObject(body)) {
    return body;
  }
  gatherHostConfig(body);
  prepareContainerConfig(body);
  const hostConfig = objectAt(body, 'HostConfig') ?? {};
  listed(hostConfig, 'CapAdd');
  listed(hostConfig, 'CapDrop');
  unset(hostConfig, 'MemorySwappiness', -1);
  unset(hostConfig, 'PidsLimit', 0);
  renameDefaultNetwork(body);
  return body;
}

/** Fields that count beside a HostConfig too, where that does not have them. */
const BESIDE_HOST_CONFIG: readonly string[] = [
  'Memory',
  'MemorySwap',
  'CpuShares',
  'CpusetCpus',
  'VolumeDriver',
];

/** Fields of HostConfig that stand beside it are put into it: all of them where there is none, else those few. */
function gatherHostConfig(body: Record<string, unknown>): void {
  const hasOwn = body['HostConfig'] !== undefined;
  body['HostConfig'] ??= {};
  const hostConfig = objectAt(body, 'HostConfig');
  const moved = hasOwn ? BESIDE_HOST_CONFIG : hostFieldNames;
  for (const name of hostFieldNames) {
    if (moved.includes(name)) {
      fill(hostConfig, name, body[name]);
    }
    delete body[name];
  }
  fill(hostConfig, 'CpusetCpus', body['Cpuset']);
  delete body['Cpuset'];
}

function fill(object: Record<string, unknown> | undefined, name: string, value: unknown): void {
  if (object !== undefined && value !== undefined && !object[name]) {
    object[name] = value;
  }
}

/** The part of it that is the container's own configuration; also the body of POST /commit. */
export function prepareContainerConfig(body: unknown): unknown {
  if (!isObject(body)) {
    return body;
  }
  for (const name of ['Cmd', 'Entrypoint', 'Shell']) {
    listed(body, name);
  }
  const signal = body['StopSignal'];
  if (typeof signal === 'number' && Number.isInteger(signal) && signal >= 0) {
    body['StopSignal'] = String(signal);
  }
  return body;
}

/** "Unset" as some clients write it. */
export function prepareContainerUpdate(body: unknown): unknown {
  if (isObject(body)) {
    unset(body, 'MemorySwappiness', -1);
  }
  return body;
}

/** `Cmd` of an exec may be one string, too. */
export function prepareExecCreate(body: unknown): unknown {
  if (isObject(body)) {
    listed(body, 'Cmd');
  }
  return body;
}

function listed(object: Record<string, unknown>, name: string): void {
  if (typeof object[name] === 'string') {
    object[name] = [object[name]];
  }
}

function unset(object: Record<string, unknown>, name: string, value: number): void {
  if (object[name] === value) {
    delete object[name];
  }
}

/** The docker CLI names the endpoint of `--network default` so; the network is called bridge. */
function renameDefaultNetwork(body: unknown): void {
  const endpoints = objectAt(body, 'NetworkingConfig', 'EndpointsConfig');
  if (endpoints && 'default' in endpoints) {
    endpoints['bridge'] ??= endpoints['default'];
    delete endpoints['default'];
  }
}
