import type { ContainerCreateRequest } from '../../../api/types/container.ts';

/** The container of a RUN that its client may see, keep and be told of: that of the classic builder. */
export interface StepContainer {
  /** In place of what the operation says; with the image that it is made of. */
  body: ContainerCreateRequest;
  /** It goes when it is done: where the command ended well, and whatever came. */
  removes: { afterSuccess: boolean; always: boolean };
  /** Until it fires no prune takes the container. */
  keepUntil: AbortSignal;
  created(id: string): void;
  progress: {
    say(text: string): void;
    output(stream: number, bytes: Buffer): void;
    /** Resolves when there is room for more output. */
    room(): Promise<void>;
  };
}
