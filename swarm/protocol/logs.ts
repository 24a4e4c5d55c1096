import type { LogLine, LogSubscription } from './session.ts';

/** `logs.subscribe`, from manager to leader: whose logs a client wants, and which lines of them. */
export interface LogsRequest extends Omit<LogSubscription, 'id' | 'tasks'> {
  /** Ids. Of a service all tasks are meant, with `follow` those too that appear later. */
  services: string[];
  tasks: string[];
}

/** Lines of all tasks as they come, in no order between tasks. A warning is the last one. */
export type LogsItem =
  | { kind: 'line'; line: LogLine; node: string; service: string }
  | { kind: 'warning'; text: string };
