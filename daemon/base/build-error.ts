import { EngineError, type EngineErrorOptions, type ErrorCode } from './errors.ts';

/** Where in which file of a build something is wrong. */
export interface SourcePlace {
  filename: string;
  data: string;
  /** From 1. */
  line: number;
  endLine: number;
}

/** A build failed: what BuildKit's clients show besides the message. */
export class BuildError extends EngineError {
  readonly source: SourcePlace | undefined;
  /** The step, as progress calls it. */
  readonly vertex: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    {
      source,
      vertex,
      ...options
    }: EngineErrorOptions & { source?: SourcePlace | undefined; vertex?: string | undefined },
  ) {
    super(code, message, options);
    this.source = source;
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
