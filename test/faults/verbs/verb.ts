import type { HttpClient } from '../../support/engine/http.ts';
import type { PublicView } from '../victim.ts';

/** What the engine is asked to do while it is made to die or to fail. */
export interface Verb {
  name: string;
  /** Of its failpoints those that it is there for, where the others are passed by another verb in the same way. */
  only?: RegExp;
  /** How often it passes its failpoints is a matter of time; it is done again until it has passed one. */
  repeats?: true;
  /** Throws when it has had an effect although it was refused. `before` is the view before it. */
  checkRefused(http: HttpClient, before: PublicView): Promise<void>;
  /** Makes what the verb works on, with a healthy daemon. */
  prepare(http: HttpClient): Promise<void>;
  /** The verb itself; failing is normal for a daemon that dies. Also the second attempt, which must not throw. */
  act(http: HttpClient): Promise<void>;
  /** Throws unless the verb has had its effect. */
  verify(http: HttpClient): Promise<void>;
  /** Takes away what verb and preparation made. */
  undo(http: HttpClient): Promise<void>;
}
