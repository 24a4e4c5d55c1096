import { EngineError, type EngineErrorOptions, type ErrorCode } from './errors.ts';

/** Where in which file of a build something is wrong. */
export interface SourcePlace {
  filename: string;
  data: string;
  /** From 1. */
  line: number;
  endLine: number;
}

/** A command that failed, and what its client may look into: names of results for each mount, `''` = none. */
export interface FailedStep {
  /** The operation, as BuildKit's clients read it: `{ exec: .. }` of `pb.Op` in JSON. */
  op: unknown;
  /** What it stood on. */
  inputs: readonly string[];
  /** What had become of that. */
  mounts: readonly string[];
}

/** A build failed: what BuildKit's clients show besides the message. */
export class BuildError extends EngineError {
  readonly source: SourcePlace | undefined;
  readonly step: FailedStep | undefined;
  /** The step, as progress calls it. */
  readonly vertex: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    {
      source,
      vertex,
      step,
      ...options
    }: EngineErrorOptions & {
      source?: SourcePlace | undefined;
      vertex?: string | undefined;
      step?: FailedStep | undefined;
    },
  ) {
    super(code, message, options);
    this.source = source;
    this.step = step;
    this.vertex = vertex;
  }
}

/** A client asks a frontend for what it does not know. */
export class UnsupportedError extends EngineError {
  readonly what: 'request' | 'capability';
  /** Its name. */
  readonly asked: string;

  constructor(what: 'request' | 'capability', asked: string) {
    super(
      'not_implemented',
      `unsupported ${what === 'request' ? 'request' : 'frontend capability'} ${asked}`,
    );
    this.what = what;
    this.asked = asked;
  }
}

/** A client's policy does not let its build have a source. */
export class DeniedSourceError extends EngineError {
  /** Why, in the words of the policy. */
  readonly messages: readonly string[];

  constructor(message: string, messages: readonly string[]) {
    super('forbidden', message);
    this.messages = messages;
  }
}
