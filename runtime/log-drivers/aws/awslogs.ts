import { invalidArgument } from '../../../daemon/base/errors.ts';
import { parseBool } from '../../../daemon/base/go/values.ts';
import type { LogMessage } from '../../../daemon/base/log-message.ts';
import { compileExpression } from '../attributes.ts';
import type { LogOptions } from '../common-options.ts';
import type { LoggedContainer } from '../logged-container.ts';
import { terms } from '../sink.ts';
import type { LogSink, SinkTerms } from '../sink.ts';
import { renderTag } from '../tag.ts';
import { CloudWatch } from './cloudwatch.ts';
import { datetimePattern, events, requests } from './events.ts';

export const AWSLOGS_OPTIONS = [
  'awslogs-region',
  'awslogs-endpoint',
  'awslogs-group',
  'awslogs-stream',
  'awslogs-create-group',
  'awslogs-create-stream',
  'awslogs-datetime-format',
  'awslogs-multiline-pattern',
  'awslogs-credentials-endpoint',
  'awslogs-force-flush-interval-seconds',
  'awslogs-max-buffered-events',
  'awslogs-format',
];

const FLUSH_S = 5;

interface AwsLogs {
  group: string;
  createGroup: boolean;
  createStream: boolean;
  /** Tells the first line of an event; undefined = each line is one. */
  isFirstLine: ((line: string) => boolean) | undefined;
  flushMs: number;
}

/** Checks and reads the options. Throws invalid_argument with dockerd's texts. Pure. */
export function parseAwsLogs(options: LogOptions): AwsLogs {
  const group = options['awslogs-group'];
  if (!group) {
    throw invalidArgument("must specify a value for log opt 'awslogs-group'");
  }
  const flag = (key: string, without: boolean): boolean => {
    try {
      return options[key] ? parseBool(options[key]) : without;
    } catch {
      throw invalidArgument(`must specify valid value for log opt '${key}': ${options[key]}`);
    }
  };
  const format = options['awslogs-format'];
  if (format !== undefined && format !== 'json/emf') {
    throw invalidArgument(`unsupported log format '${format}'`);
  }
  count(options, 'awslogs-max-buffered-events', 0);
  return {
    group,
    createGroup: flag('awslogs-create-group', false),
    createStream: flag('awslogs-create-stream', true),
    isFirstLine: firstLine(options),
    flushMs: count(options, 'awslogs-force-flush-interval-seconds', FLUSH_S) * 1000,
  };
}

function count(options: LogOptions, key: string, without: number): number {
  const text = options[key];
  if (text !== undefined && !(/^\d+$/.test(text) && Number(text) > 0)) {
    throw invalidArgument(`must specify a positive integer for log opt '${key}': ${text}`);
  }
  return text === undefined ? without : Number(text);
}

function firstLine(options: LogOptions): AwsLogs['isFirstLine'] {
  const pattern = options['awslogs-multiline-pattern'];
  const datetime = options['awslogs-datetime-format'];
  if (pattern !== undefined && datetime !== undefined) {
    throw invalidArgument(
      "you cannot configure log opt 'awslogs-datetime-format' and 'awslogs-multiline-pattern' at the same time",
    );
  }
  if (options['awslogs-format'] !== undefined && (pattern ?? datetime) !== undefined) {
    throw invalidArgument("'awslogs-format' cannot be used with a multiline option");
  }
  const expression = datetime ? datetimePattern(datetime) : pattern;
  return expression ? compileExpression(expression) : undefined;
}

/** Messages to Amazon CloudWatch Logs. */
export function openAwsLogs(container: LoggedContainer, options: LogOptions): SinkTerms {
  const settings = parseAwsLogs(options);
  const stream = options['awslogs-stream'] || renderTag(options['tag'] || '{{.FullID}}', container);
  const client = new CloudWatch(process.env, {
    region: options['awslogs-region'],
    endpoint: options['awslogs-endpoint'],
    credentialsEndpoint: options['awslogs-credentials-endpoint'],
    format: options['awslogs-format'],
  });
  return terms(new AwsSink(settings, stream, client), { lingerMs: settings.flushMs });
}

class AwsSink implements LogSink {
  readonly #settings: AwsLogs;
  readonly #names: { logGroupName: string; logStreamName: string };
  readonly #client: CloudWatch;

  constructor(settings: AwsLogs, stream: string, client: CloudWatch) {
    this.#settings = settings;
    this.#names = { logGroupName: settings.group, logStreamName: stream };
    this.#client = client;
  }

  async connect(): Promise<void> {
    const { createGroup, createStream, group } = this.#settings;
    if (!createStream) {
      return;
    }
    const made = await this.#client.call('CreateLogStream', this.#names, ['ResourceNotFoundException']);
    if (made === 'ResourceNotFoundException') {
      if (!createGroup) {
        throw new Error(`awslogs: the log group ${group} does not exist`);
      }
      await this.#client.call('CreateLogGroup', { logGroupName: group });
      await this.#client.call('CreateLogStream', this.#names);
    }
  }

  async send(messages: readonly LogMessage[]): Promise<void> {
    for (const logEvents of requests(events(messages, this.#settings.isFirstLine))) {
      const outcome = await this.#client.call('PutLogEvents', { ...this.#names, logEvents }, [
        'ResourceNotFoundException',
      ]);
      if (outcome === 'ResourceNotFoundException') {
        // Removed behind our back, or never made: a daemon that restarts asks no container.
        await this.connect();
        throw new Error(`awslogs: the log stream ${this.#names.logStreamName} did not exist`);
      }
    }
  }

  close(): void {
    // Connections are the agent's, and close when idle.
  }
}
