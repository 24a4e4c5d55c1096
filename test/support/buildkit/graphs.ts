import { createHash } from 'node:crypto';
import { operation } from '../../../daemon/build/llb/messages.ts';

export type SentOperation = Parameters<typeof operation.encode>[0];

/** An operation of a client's graph, or one of its results. */
export interface Node {
  bytes: Buffer;
  inputs: readonly Node[];
  /** Which of its results. */
  index: number;
}

export function node(sent: SentOperation, ...inputs: readonly Node[]): Node {
  const named = inputs.map(({ bytes, index }) => ({ digest: digestOf(bytes), index }));
  return { bytes: operation.encode({ ...sent, inputs: named }), inputs, index: 0 };
}

/** Another result of it. */
export function result(of: Node, index: number): Node {
  return { ...of, index };
}

/** A graph that ends in a result: each operation once, inputs first. */
export function definitionOf(target: Node): { def: Buffer[] } {
  const all = new Map<string, Buffer>();
  const add = ({ bytes, inputs }: Node): void => {
    inputs.forEach(add);
    all.set(digestOf(bytes), bytes);
  };
  add(target);
  return { def: [...all.values(), node({}, target).bytes] };
}

export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

export const busybox = node({ source: { identifier: 'docker-image://docker.io/library/busybox:latest' } });

type Action = NonNullable<NonNullable<SentOperation['file']>['actions']>[number];
type Mount = NonNullable<NonNullable<SentOperation['exec']>['mounts']>[number];

/** Actions one on the other on the first input, of which the last is the result; -1 = nothing. */
export function files(actions: readonly Action[], ...inputs: readonly Node[]): Node {
  const all = actions.map((action, position) => ({
    input: position === 0 ? (inputs.length === 0 ? -1 : 0) : inputs.length + position - 1,
    secondaryInput: -1,
    output: position === actions.length - 1 ? 0 : -1,
    ...action,
  }));
  return node({ file: { actions: all } }, ...inputs);
}

/** The same on an empty tree, though there are inputs to copy from. */
export function scratch(actions: readonly Action[], ...inputs: readonly Node[]): Node {
  const [first = {}, ...more] = actions;
  return files([{ input: -1, ...first }, ...more], ...inputs);
}

export const mkfile = (path: string, text: string, more: object = {}): Action => ({
  makeFile: { path, mode: 0o644, data: Buffer.from(text), timestamp: -1n, ...more },
});
export const mkdir = (path: string, more: object = {}): Action => ({
  makeDirectory: { path, mode: 0o755, makesParents: true, timestamp: -1n, ...more },
});
export const symlink = (target: string, path: string): Action => ({
  symlink: { target, path, timestamp: -1n },
});
export const rm = (path: string, more: object = {}): Action => ({ remove: { path, ...more } });
/** Of the second input, unless told otherwise; with nothing that is not said. */
export const copy = (src: string, dest: string, more: object = {}, secondaryInput = 1): Action => ({
  secondaryInput,
  copy: { src, dest, mode: -1, timestamp: -1n, ...more },
});

/** A command of a shell without network, its root the first input; `mounts`: what else is mounted. */
export function shell(script: string, mounts: readonly Mount[], ...inputs: readonly Node[]): Node {
  return node(
    {
      exec: {
        meta: { args: ['/bin/sh', '-ec', script], cwd: '/', removesStubParents: true },
        network: 2,
        mounts: [{ input: 0, dest: '/', output: 0 }, ...mounts.map((mount) => ({ output: -1, ...mount }))],
      },
    },
    ...inputs,
  );
}
