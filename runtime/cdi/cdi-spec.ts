import { Ajv } from 'ajv';
import type { ValidateFunction } from 'ajv';
import { parse } from 'yaml';

/** What a device brings into a container (`containerEdits` of the Container Device Interface, version 0.8). */
export interface CdiEdits {
  /** `NAME=value`. */
  env?: string[];
  deviceNodes?: CdiDeviceNode[];
  mounts?: { hostPath: string; containerPath: string; type?: string; options?: string[] }[];
  hooks?: CdiHook[];
  additionalGids?: number[];
}

/** `hostPath` absent: at the same path. What is not told of the node is as the host has it. */
export interface CdiDeviceNode {
  path: string;
  hostPath?: string;
  type?: 'b' | 'c' | 'u' | 'p';
  major?: number;
  minor?: number;
  fileMode?: number;
  /** Of `rwm`; all of them where absent. */
  permissions?: string;
  uid?: number;
  gid?: number;
}

export const HOOK_NAMES = [
  'prestart',
  'createRuntime',
  'createContainer',
  'startContainer',
  'poststart',
  'poststop',
] as const;

/** A program of the host that the runtime calls. `timeout` in seconds. */
export interface CdiHook {
  hookName: (typeof HOOK_NAMES)[number];
  path: string;
  args?: string[];
  env?: string[];
  timeout?: number;
}

/** One file: devices of a kind (`vendor.com/class`), and what comes with each of them. */
export interface CdiSpec {
  kind: string;
  annotations?: Record<string, string>;
  devices: { name: string; annotations?: Record<string, string>; containerEdits: CdiEdits }[];
  containerEdits?: CdiEdits;
}

const KIND = '^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?$';
const NAME = '^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$';
/** `vendor.com/class=name`. */
export const QUALIFIED_NAME = new RegExp(`${KIND.slice(0, -1)}=${NAME.slice(1)}`);

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const path = { type: 'string', pattern: '^/' };
const number = { type: 'integer', minimum: 0 };
const annotations = { type: 'object', additionalProperties: text };
const pairs = { type: 'array', items: { type: 'string', pattern: '^[^=]+=' } };

const object = (properties: object, ...required: string[]): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const containerEdits = object({
  env: pairs,
  deviceNodes: {
    type: 'array',
    items: object(
      {
        path,
        hostPath: path,
        type: { enum: ['b', 'c', 'u', 'p'] },
        major: number,
        minor: number,
        fileMode: number,
        permissions: { type: 'string', pattern: '^[rwm]*$' },
        uid: number,
        gid: number,
      },
      'path',
    ),
  },
  mounts: {
    type: 'array',
    items: object(
      { hostPath: text, containerPath: path, type: text, options: texts },
      'hostPath',
      'containerPath',
    ),
  },
  hooks: {
    type: 'array',
    items: object(
      { hookName: { enum: [...HOOK_NAMES] }, path, args: texts, env: pairs, timeout: number },
      'hookName',
      'path',
    ),
  },
  additionalGids: { type: 'array', items: { ...number, minimum: 1 } },
});

const schema = object(
  {
    cdiVersion: text,
    kind: { type: 'string', pattern: KIND },
    annotations,
    devices: {
      type: 'array',
      items: object(
        { name: { type: 'string', pattern: NAME }, annotations, containerEdits },
        'name',
        'containerEdits',
      ),
    },
    containerEdits,
  },
  'cdiVersion',
  'kind',
  'devices',
);

let validate: ValidateFunction<CdiSpec> | undefined;

/**
 * Reads a specification of devices, JSON or YAML. Throws Error with the field that is wrong: one that is not known here
 * (`intelRdt`, `netDevices`) would be a device that lacks something. Pure.
 */
export function parseCdiSpec(content: string): CdiSpec {
  const value: unknown = parse(content, { maxAliasCount: 100 });
  validate ??= new Ajv({ allErrors: false }).compile<CdiSpec>(schema);
  if (!validate(value)) {
    const [error] = validate.errors ?? [];
    const extra: unknown = error?.params['additionalProperty'];
    const named = typeof extra === 'string' ? `: ${extra}` : '';
    throw new Error(`${error?.instancePath || '/'} ${error?.message}${named}`);
  }
  return value;
}
