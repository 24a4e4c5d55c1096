import type { BuildSession } from '../../../api/types/build/session.ts';
import { EngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { BuildTree } from '../snapshots/tree.ts';

interface OfSession<T> {
  coming: Map<string, Promise<T>>;
  isOver: boolean;
}

/**
 * What clients have sent as streams, until their sessions are over: a client gives each once, but its graphs may ask
 * for it again. BuildKit keeps its downloads, too.
 */
export class KeptUploads<T extends { tree: BuildTree }> {
  readonly #sessions = new WeakMap<BuildSession, OfSession<T>>();

  /**
   * What came by this path, with a hold of the tree for who asks; `receive` is called where nothing has come yet. Who
   * asks beside it waits, and fails with it. Throws resource_exhausted for too many of one session.
   */
  async take(session: BuildSession, path: string, receive: () => Promise<T>): Promise<T> {
    const own = this.#of(session);
    const upload = await (own.coming.get(path) ?? begin(own, path, receive));
    if (own.isOver) {
      throw new EngineError('canceled', 'the session of the client is over');
    }
    upload.tree.hold();
    return upload;
  }

  #of(session: BuildSession): OfSession<T> {
    const known = this.#sessions.get(session);
    if (known !== undefined) {
      return known;
    }
    const own: OfSession<T> = { coming: new Map(), isOver: false };
    this.#sessions.set(session, own);
    const end = (): void => {
      own.isOver = true;
      for (const coming of own.coming.values()) {
        coming.then(
          ({ tree }) => tree[Symbol.dispose](),
          () => undefined /* who asked for it was told */,
        );
      }
    };
    session.closed.then(end, end);
    return own;
  }
}

function begin<T>(own: OfSession<T>, path: string, receive: () => Promise<T>): Promise<T> {
  if (own.coming.size >= limits.sessionUploadsMax) {
    throw new EngineError(
      'resource_exhausted',
      `more than ${limits.sessionUploadsMax} uploads of one session`,
    );
  }
  const coming = receive();
  own.coming.set(path, coming);
  // What has failed may be asked for again: the client knows whether it still has it.
  coming.catch(() => own.coming.delete(path));
  return coming;
}
