import type { ContainerConfig } from '../../../api/types/container.ts';
import type { EventDraft } from '../../events/journal-types.ts';
import { familiarName } from '../../../storage/references/reference.ts';
import { applyChanges } from './changes.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import { makeChild } from './child.ts';
import type { ImageContext } from '../context.ts';
import { mergeRunConfig } from './merge-config.ts';
import { parseTarget } from '../naming.ts';

/** What a client wants made of a container. */
export interface CommitRequest {
  container: { id: string; imageId: string; config: ContainerConfig };
  /** Replaces the container's own configuration where it says something. */
  config: ContainerConfig | undefined;
  changes: readonly string[];
  author: string;
  comment: string;
  /** Name of the image; `repo` empty = none. */
  repo: string;
  tag: string;
}

/** A checked commit: only the container's files are missing. */
export interface CommitPlan {
  /** Makes the image and the event, which gets the image's id and name. Answers the id. */
  run(
    tar: ChangesTar,
    options: { signal: AbortSignal; event: (imageId: string, name: string) => EventDraft },
  ): Promise<string>;
}

/** Checks the whole request before the container is touched. Throws invalid_argument. */
export function planCommit(context: ImageContext, request: CommitRequest): CommitPlan {
  const { container, author, comment } = request;
  const name = request.repo === '' ? undefined : parseTarget(request.repo, request.tag);
  const changed = applyChanges(request.config ?? container.config, request.changes);
  const config = mergeRunConfig(changed, container.config);
  return {
    run: (tar, { signal, event }) =>
      makeChild(
        context,
        {
          parentId: container.imageId,
          config,
          containerConfig: container.config,
          containerId: container.id,
          author,
          comment,
          createdBy: (container.config.Cmd ?? []).join(' '),
          names: name === undefined ? [] : [name],
          events: (imageId) => [event(imageId, name === undefined ? '' : familiarName(name))],
        },
        tar,
        signal,
      ),
  };
}
