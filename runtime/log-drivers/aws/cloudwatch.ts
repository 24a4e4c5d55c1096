import { callHttp } from '../../http/call.ts';
import { RejectedError } from '../sink.ts';
import { AwsCredentialSource, machineRegion } from './credentials.ts';
import { signed } from './signature.ts';

export interface CloudWatchOptions {
  region: string | undefined;
  endpoint: string | undefined;
  credentialsEndpoint: string | undefined;
  /** Told to the service with the events. */
  format: string | undefined;
}

/** Outcomes that mean that it is done already. */
const DONE = new Set(['ResourceAlreadyExistsException', 'DataAlreadyAcceptedException']);

/** The few calls of CloudWatch Logs that a log driver makes. */
export class CloudWatch {
  readonly #options: CloudWatchOptions;
  readonly #credentials: AwsCredentialSource;
  #region: string | undefined;

  constructor(environment: Readonly<Record<string, string | undefined>>, options: CloudWatchOptions) {
    this.#options = options;
    this.#credentials = new AwsCredentialSource(environment, options.credentialsEndpoint);
    this.#region = options.region || environment['AWS_REGION'];
  }

  /**
   * Makes a call; answers undefined, or the error when it is among `expected`. Throws RejectedError for arguments that
   * the service does not take, Error for everything that may pass.
   */
  async call(
    operation: string,
    request: object,
    expected: readonly string[] = [],
  ): Promise<string | undefined> {
    const region = await this.#findRegion();
    const endpoint = this.#options.endpoint ?? `logs.${region}.amazonaws.com`;
    const url = new URL(/^https?:\/\//.test(endpoint) ? endpoint : `https://${endpoint}`);
    const body = Buffer.from(JSON.stringify(request));
    const headers = {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `Logs_20140328.${operation}`,
      ...(this.#options.format && { 'x-amzn-logs-format': this.#options.format }),
    };
    const credentials = await this.#credentials.get();
    const { status, text } = await callHttp(url, {
      method: 'POST',
      headers: signed({ url, headers, body, region, service: 'logs', nowMs: Date.now() }, credentials),
      body,
    });
    const error = status === 200 ? undefined : errorName(text);
    if (error === undefined || DONE.has(error)) {
      return undefined;
    }
    if (expected.includes(error)) {
      return error;
    }
    const message = `awslogs: ${operation}: ${status} ${text}`;
    throw error === 'InvalidParameterException' ? new RejectedError(message) : new Error(message);
  }

  async #findRegion(): Promise<string> {
    if (!this.#region) {
      try {
        this.#region = await machineRegion();
      } catch (error) {
        throw new Error('Cannot determine region for awslogs driver', { cause: error });
      }
    }
    return this.#region;
  }
}

/** `com.amazonaws...#ResourceNotFoundException` or the bare name, in `__type`. */
function errorName(text: string): string {
  return /"__type"\s*:\s*"(?:[^"#]*#)?([^"]*)"/.exec(text)?.[1] ?? 'unknown';
}
