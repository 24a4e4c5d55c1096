import { Readable } from 'node:stream';
import type { ByteStream, LogsOptions } from '../../../api/types/requests.ts';
import { formatNano } from '../../../daemon/base/clock.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import { frameHeader } from '../../../daemon/base/stdio/frames.ts';
import { detailsText } from '../../../daemon/base/stdio/log-details.ts';
import type { LogsItem, LogsRequest } from '../../protocol/logs.ts';
import type { ControlContext } from '../context.ts';
import { findService } from '../services/find.ts';
import { findTask } from '../tasks/find.ts';

type Context = Pick<ControlContext, 'cluster' | 'readLogs'>;

/** What a service's tasks have written, wherever they run. */
export function serviceLogs(context: Context, ref: string, options: LogsOptions): ByteStream {
  const { id, record } = findService(context.cluster, ref);
  const tty = record.spec.TaskTemplate?.ContainerSpec?.TTY ?? false;
  return open(context, { services: [id], tasks: [] }, { tty, options });
}

export function taskLogs(context: Context, ref: string, options: LogsOptions): ByteStream {
  const { id, record } = findTask(context.cluster, ref);
  const tty = context.cluster.state.templateOf(record)?.task.ContainerSpec?.TTY ?? false;
  return open(context, { services: [], tasks: [id] }, { tty, options });
}

function open(
  { readLogs }: Context,
  of: Pick<LogsRequest, 'services' | 'tasks'>,
  { tty, options }: { tty: boolean; options: LogsOptions },
): ByteStream {
  const { stdout, stderr, follow, since, until, tail } = options;
  if (!stdout && !stderr) {
    throw invalidArgument("must specify at least one of 'stdout' or 'stderr'");
  }
  const request: LogsRequest = {
    ...of,
    follow,
    stdout,
    stderr,
    ...(since === undefined ? {} : { since: String(since) }),
    ...(until === undefined ? {} : { until: String(until) }),
    ...(tail === undefined ? {} : { tail }),
  };
  const items = readLogs(request, options.signal);
  return { tty, bytes: Readable.from(rendered(items, tty, options)) };
}

async function* rendered(
  items: AsyncIterable<LogsItem>,
  tty: boolean,
  options: LogsOptions,
): AsyncGenerator<Buffer> {
  for await (const item of items) {
    const payload =
      item.kind === 'line'
        ? lineOf(item, options)
        : Buffer.from(`Error grabbing logs: rpc error: code = Unknown desc = ${item.text}\n`);
    const stream = item.kind === 'line' ? item.line.stream : 'systemerr';
    yield tty ? payload : Buffer.concat([frameHeader(stream, payload.length), payload]);
  }
}

/** Time, details and what was written. Where a line comes from is said last, over attributes of the same name. */
function lineOf(
  { line, node, service }: Extract<LogsItem, { kind: 'line' }>,
  { timestamps, details }: LogsOptions,
): Buffer {
  const origin = {
    ...line.attributes,
    'com.docker.swarm.node.id': node,
    'com.docker.swarm.service.id': service,
    'com.docker.swarm.task.id': line.task,
  };
  const prefix =
    (timestamps ? `${formatNano(BigInt(line.at))} ` : '') + (details ? `${detailsText(origin)} ` : '');
  return Buffer.concat([Buffer.from(prefix), Buffer.from(line.line, 'base64')]);
}
