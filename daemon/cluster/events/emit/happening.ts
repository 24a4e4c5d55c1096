import type { ObjectReference } from '../../../../api/types/cluster/events.ts';

/** Something that has happened in the engine, for people. */
export interface Happening {
  /** UNIX nanoseconds. */
  atNano: bigint;
  /** Instead of the time in the event's name, where the managers that tell it note different times. */
  once?: string;
  /** It may happen again, and then it is a series; otherwise what is named by `once` happens once. */
  mayRepeat?: boolean;
  /** By which all that tells of it calls it: an annotation, `berth.engine/occurrence`. */
  id?: string;
  /** What it came of, by the same name: an annotation, `berth.engine/cause`; of a series the newest. */
  cause?: string;
  /** What root alone is told of it, in the audit. */
  audited?: Readonly<Record<string, string>>;
  /** Who tells it, where that is not this host. */
  instance?: string;
  /** Of the event: the stack that it concerns, or `default`. */
  namespace: string;
  regarding: ObjectReference;
  related?: ObjectReference;
  type: 'Normal' | 'Warning';
  /** Kubernetes' word where it has one: `Started`. */
  reason: string;
  /** What was done: `Start`. */
  action: string;
  note: string;
  /** The part of the engine that tells it: `runtime`. */
  part: string;
}
