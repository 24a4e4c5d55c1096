import { posix } from 'node:path';
import { invalidArgument } from '../../../base/errors.ts';
import type { ExecMount, Vertex } from '../../graph/op.ts';
import type { Mount } from '../instructions/mount.ts';
import { contextTree, sourceTree } from '../sources/source-tree.ts';
import type { StepContext } from './context.ts';

const CACHE_MODE = 0o755;
const SECRET_MODE = 0o400;
const SOCKET_MODE = 0o600;

/** What is mounted into one command, and the trees that it comes from. */
export class Mounts {
  readonly mounts: ExecMount[] = [];
  /** From position 1 of the operation's inputs on. */
  readonly inputs: (Vertex | undefined)[] = [];
  readonly #context: StepContext;
  #agents = 0;

  constructor(context: StepContext) {
    this.#context = context;
  }

  bind(tree: Vertex | undefined, mount: { source: string; target: string; isWritable: boolean }): void {
    this.mounts.push({ type: 'bind', from: this.#input(tree), ...mount });
  }

  /** Throws invalid_argument. */
  add(mount: Mount): void {
    switch (mount.type) {
      case 'bind': {
        const source = posix.join('/', mount.source);
        const tree = this.#tree(mount, source);
        this.bind(tree, { source, target: this.#target(mount), isWritable: !mount.isReadOnly });
        break;
      }
      case 'cache':
        this.#addCache(mount);
        break;
      case 'tmpfs':
        this.mounts.push({
          type: 'tmpfs',
          target: this.#target(mount),
          ...(mount.sizeBytes !== undefined && { sizeBytes: mount.sizeBytes }),
        });
        break;
      case 'secret':
        this.#addSecret(mount);
        break;
      case 'ssh':
        this.#addAgent(mount);
    }
  }

  #addCache(mount: Mount): void {
    const { build } = this.#context;
    const source = posix.join('/', mount.source);
    const tree = mount.from === '' ? undefined : this.#tree(mount, source);
    this.mounts.push({
      type: 'cache',
      id: `${build.options.cacheNamespace}/${mount.id || posix.normalize(mount.target)}`,
      sharing: mount.sharing,
      ...(tree !== undefined && { from: this.#input(tree) }),
      source,
      target: this.#target(mount),
      isWritable: !mount.isReadOnly,
      owner: ownerOf(mount),
      mode: mount.mode ?? CACHE_MODE,
    });
  }

  #addSecret(mount: Mount): void {
    const id = mount.source || mount.id || posix.basename(mount.target);
    const env = mount.env === '' ? id : mount.env;
    const target = mount.target || (env === undefined ? `/run/secrets/${posix.basename(id)}` : '');
    this.#mention('secrets', id, mount);
    this.mounts.push({
      type: 'secret',
      id,
      ...(target !== '' && { target: this.#absolute(target) }),
      ...(env !== undefined && { env }),
      isRequired: mount.isRequired,
      owner: ownerOf(mount),
      mode: mount.mode ?? SECRET_MODE,
    });
  }

  #addAgent(mount: Mount): void {
    const id = mount.id || 'default';
    this.#mention('ssh', id, mount);
    this.mounts.push({
      type: 'ssh',
      id,
      target: mount.target === '' ? `/run/buildkit/ssh_agent.${this.#agents}` : this.#absolute(mount.target),
      isRequired: mount.isRequired,
      owner: ownerOf(mount),
      mode: mount.mode ?? SOCKET_MODE,
    });
    this.#agents += 1;
  }

  #mention(kind: 'secrets' | 'ssh', id: string, { isRequired }: Mount): void {
    const { stage, step } = this.#context;
    if (!stage.outline[kind].has(id)) {
      stage.outline[kind].set(id, { isRequired, lines: step.lines });
    }
  }

  #tree({ from, target }: Mount, source: string): Vertex | undefined {
    const { build, stage } = this.#context;
    if (from === '') {
      return contextTree(build, [source]);
    }
    return sourceTree(stage, from, {
      paths: [source],
      problem:
        `cannot mount from stage ${JSON.stringify(from)} to ${JSON.stringify(target)}, ` +
        'stage needs to be defined before current command',
    });
  }

  #target({ target }: Mount): string {
    const path = this.#absolute(target);
    if (path === '/') {
      throw invalidArgument(`invalid mount target ${JSON.stringify(path)}`);
    }
    return path;
  }

  #absolute(path: string): string {
    return posix.resolve('/', this.#context.state.image.config.WorkingDir ?? '', path);
  }

  #input(tree: Vertex | undefined): number {
    return this.inputs.push(tree);
  }
}

function ownerOf({ uid = 0, gid = 0 }: Mount): { uid: number; gid: number } {
  return { uid, gid };
}
