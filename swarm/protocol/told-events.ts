/** `events.tell`, from a node to a manager: what has happened on it. Answered once the managers have all of it. */
export interface ToldEvents {
  events: readonly ToldEvent[];
}

/** An event of an engine. */
export interface ToldEvent {
  type: string;
  action: string;
  actor: string;
  /** Some of them. */
  attributes: Readonly<Record<string, string>>;
  /** UNIX nanoseconds, decimal. */
  timeNano: string;
}
