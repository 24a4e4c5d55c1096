import type { ByteStream, LogsOptions } from '../../../api/types/requests.ts';
import { fileAttributes } from '../../../runtime/log-drivers/attributes.ts';
import { isReadable } from '../../../runtime/log-drivers/drivers.ts';
import { openLog } from '../../../storage/logs/reader.ts';
import { conflict, invalidArgument, notImplemented } from '../../base/errors.ts';
import { detailsText } from '../../base/stdio/log-details.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { loggedRun } from '../stdio/logged-run.ts';
import { containerFiles } from '../resources/container-files.ts';
import { isAtRest } from '../state/state-facts.ts';

/** The container's log from its file; with `follow` until its last run is over. */
export async function containerLogs(
  context: ContainerContext,
  ref: string,
  options: LogsOptions,
): Promise<ByteStream> {
  const container = context.registry.find(ref);
  refuseLogs(container, options);
  const { follow, stdout, stderr, since, until, timestamps, details, tail } = options;
  const tty = container.spec.config.Tty ?? false;
  const over = new AbortController();
  const bytes = openLog(containerFiles(context.dataRoot, container.id).log, {
    stdout,
    stderr,
    timestamps,
    tty,
    ...(since !== undefined && { sinceNano: since }),
    ...(until !== undefined && { untilNano: until }),
    ...(details && { details: detailsOf(context, container) }),
    ...(tail !== undefined && { tail }),
    ...(follow &&
      !isAtRest(container.state) && {
        follow: { ended: outputOver(context, container, until, over.signal) },
      }),
    signal: options.signal,
  });
  bytes.once('close', () => over.abort());
  return { tty, bytes };
}

function refuseLogs(container: Container, options: LogsOptions): void {
  if (!options.stdout && !options.stderr) {
    throw invalidArgument('Bad parameters: you must choose at least one stream');
  }
  if (container.state.status === 'removing' || container.state.status === 'dead') {
    throw conflict('can not get logs from container which is dead or marked for removal');
  }
  refuseUnreadable(container);
}

/** What the driver keeps elsewhere, or nowhere, cannot be shown. */
export function refuseUnreadable(container: Container): void {
  if (!isReadBack(container)) {
    throw notImplemented('configured logging driver does not support reading');
  }
}

/** What the container wrote can be read here. */
export function isReadBack({ spec }: Container): boolean {
  return isReadable(spec.logDriver, spec.hostConfig.LogConfig.Config);
}

function detailsOf(context: ContainerContext, container: Container): string {
  const run = loggedRun(context, container);
  return detailsText(fileAttributes(run, run.logConfig.Config));
}

/** Nothing more will be shown: the container is at rest, or the time in `until` has come. */
function outputOver(
  context: ContainerContext,
  container: Container,
  until: bigint | undefined,
  over: AbortSignal,
): Promise<unknown> {
  const wait = context.waiters.wait(container.id, container.state, 'at-rest');
  over.addEventListener('abort', () => wait.cancel(), { once: true });
  if (until === undefined) {
    return wait.done;
  }
  const remainingMs = Math.max(0, Number((until - context.clock.nowNano()) / 1_000_000n));
  const untilCame = new Promise<void>((resolve) => {
    const timer = context.clock.setTimeout(resolve, Math.min(remainingMs, 2 ** 31 - 1));
    over.addEventListener('abort', () => timer[Symbol.dispose](), { once: true });
  });
  return Promise.race([wait.done, untilCame]);
}
