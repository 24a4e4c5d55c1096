import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, invalidArgument, invariant, notFound } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { becomesTrue } from '../cluster/becomes-true.ts';
import { needsData } from '../dispatcher/assignments/assigned.ts';
import { fieldsOf, textOf } from '../dispatcher/check.ts';
import type { ImageAnswer, ImageDescribed } from '../protocol/images.ts';
import type { Caller, Method } from '../rpc/port.ts';
import type { ImageStore, StoredImage } from './ports.ts';
import { ReadSlots } from './read-slots.ts';

/** Between two looks whether a task has become known. */
const LOOK_MS = 50;
/** Of a name, in a message. */
const NAME_MAX = 256;

interface Deps {
  clock: Clock;
  cluster: Pick<Cluster, 'state'>;
  store: ImageStore;
}

/**
 * What nodes call on a manager for images that no registry has. A node gets those that a task of its own names, which
 * runs or is going to.
 */
export class ImageServer {
  readonly #deps: Deps;
  readonly #slots = new ReadSlots();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** To be served for as long as this node is a manager. */
  get methods(): Method[] {
    return [
      {
        name: 'images.find',
        allowed: 'node',
        kind: 'call',
        handle: (body, caller) => this.#find(body, caller),
      },
      {
        name: 'images.describe',
        allowed: 'node',
        kind: 'call',
        handle: (body, caller) => this.#describe(body, caller),
      },
      {
        name: 'images.layer',
        allowed: 'node',
        kind: 'stream',
        handle: (body, caller, signal) => this.#layer(body, caller, signal),
      },
    ];
  }

  async #find(body: unknown, caller: Caller): Promise<ImageAnswer> {
    const fields = fieldsOf(body, 'a request');
    const image = textOf(fields, 'image');
    await this.#nodeThatNeeds(image, caller);
    failpoint('swarm.images.find');
    const stored = this.#deps.store.find(image, platformOf(fields));
    if (stored === undefined) {
      return {};
    }
    const { id, os, architecture, taggedNano } = stored;
    return { found: { id, os, architecture, tagged: String(taggedNano) } };
  }

  async #describe(body: unknown, caller: Caller): Promise<ImageDescribed> {
    const { stored } = await this.#wanted(body, caller);
    failpoint('swarm.images.describe');
    const { config, layerBytes } = stored.describe();
    return { config: config.toString('base64'), layerBytes };
  }

  async *#layer(body: unknown, caller: Caller, signal: AbortSignal): AsyncGenerator<Buffer> {
    const position = Reflect.get(fieldsOf(body, 'a request'), 'layer');
    if (!Number.isSafeInteger(position)) {
      throw invalidArgument('layer is no number');
    }
    const { node } = await this.#wanted(body, caller);
    using slot = await this.#slots.acquire(node, signal);
    // It may have waited long for its turn.
    const { stored } = await this.#wanted(body, caller);
    failpoint('swarm.images.layer');
    // It has just been found to be one.
    const source = stored.readLayer(position as number);
    const stop = (): void => {
      source.destroy(new EngineError('canceled', 'the caller has gone'));
    };
    const tooSlow = (): void => {
      source.destroy(new EngineError('deadline_exceeded', 'the node takes its layers too slowly'));
      slot[Symbol.dispose]();
    };
    signal.addEventListener('abort', stop, { once: true });
    using _whole = this.#deps.clock.setTimeout(tooSlow, limits.swarmImageLayerMs);
    try {
      for await (const chunk of source) {
        // The tar of a layer is never decoded to text.
        for (const piece of piecesOf(chunk as Buffer)) {
          failpoint('swarm.images.piece');
          using _patience = this.#deps.clock.setTimeout(tooSlow, limits.swarmImagePieceMs);
          yield piece;
        }
      }
    } finally {
      signal.removeEventListener('abort', stop);
      source.destroy();
    }
  }

  /** The image that the node has been told of. Throws forbidden, and not_found where it is another one by now. */
  async #wanted(body: unknown, caller: Caller): Promise<{ stored: StoredImage; node: string }> {
    const fields = fieldsOf(body, 'a request');
    const [image, id] = [textOf(fields, 'image'), textOf(fields, 'id')];
    const node = await this.#nodeThatNeeds(image, caller);
    const stored = this.#deps.store.find(image, { id });
    if (stored?.id !== id) {
      throw notFound(`${image.slice(0, NAME_MAX)} is another image by now`);
    }
    return { stored, node };
  }

  /**
   * Another manager may have assigned the task, of which this one hears a moment later. Throws forbidden where no task
   * of the caller names the image.
   */
  async #nodeThatNeeds(image: string, { identity }: Caller): Promise<string> {
    invariant(identity !== undefined, 'only nodes may call it');
    const { node } = identity;
    if (!(await becomesTrue(this.#deps.clock, () => this.#isNeeded(image, node), LOOK_MS))) {
      throw new EngineError('forbidden', `no task of node ${node} is of ${image.slice(0, NAME_MAX)}`);
    }
    return node;
  }

  #isNeeded(image: string, node: string): boolean {
    const { state } = this.#deps.cluster;
    return [...state.tasksOn(node)].some(
      (task) => needsData(task) && state.templateOf(task.record)?.task.ContainerSpec?.Image === image,
    );
  }
}

function platformOf(fields: ReturnType<typeof fieldsOf>): { os: string; architecture: string } | undefined {
  const { platform } = fields;
  if (platform === undefined) {
    return undefined;
  }
  const told = fieldsOf(platform, 'platform');
  return { os: textOf(told, 'os'), architecture: textOf(told, 'architecture') };
}

/** Of a size that a message holds. */
function* piecesOf(chunk: Buffer): Generator<Buffer> {
  for (let at = 0; at < chunk.length; at += limits.swarmImagePieceBytes) {
    yield chunk.subarray(at, at + limits.swarmImagePieceBytes);
  }
}
