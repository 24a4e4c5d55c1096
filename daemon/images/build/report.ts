import type { ProgressMessage } from '../../../api/types/image.ts';
import type { Instruction } from './dockerfile/parse.ts';
import type { Plan } from './dockerfile/stages.ts';

/** A step of a build as it is announced. */
export interface StepFacts {
  instruction: Instruction;
  /** Of the plan's; undefined for an ARG before the first FROM. */
  stage: number | undefined;
}

/** Who hears what a build does: the messages of the classic builder's clients, or the vertices of BuildKit's. */
export interface BuildReport {
  begin(plan: Plan): void;
  step(step: StepFacts): void;
  /** The step that was announced last has to be made: its work begins. */
  making(): void;
  /** It was made before. */
  cached(): void;
  /** The step that was announced last is done: this is the image now. */
  made(imageId: string): void;
  /** Output of a command. Stream 2 is stderr. */
  output(stream: number, bytes: Buffer): void;
  /** Resolves when there is room for more of it. */
  room(): Promise<void>;
  /** What only clients of the classic builder are told. */
  say(text: string): void;
  /** Progress of a pull or a download. */
  send(message: ProgressMessage): void;
}
