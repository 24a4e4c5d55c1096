import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { conflict, internal, invalidArgument, invariant } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { FULL_ID } from '../../daemon/base/ids.ts';
import { identify, isAlive } from '../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import { limits } from '../../daemon/base/limits.ts';
import { Rollback } from '../../daemon/base/rollback.ts';
import { createArgv } from '../monitor/conmon-argv.ts';
import { limitLog } from '../monitor/log-file.ts';
import { MonitorProcess } from '../monitor/monitor-process.ts';
import { cleanUp } from './clean-up.ts';
import { runcFailure } from './failure.ts';
import { writeLaunchRecord } from './launch-record.ts';
import type { LaunchRequest } from './launch-request.ts';
import { writeInit } from './other-runtimes.ts';
import { monitorSettings } from './parts.ts';
import type { RuntimeParts } from './parts.ts';
import { encodeSpec } from './spec-json.ts';

/**
 * Starts conmon, which runs `runc create`. Answers the container's init, which waits in its exec FIFO for `begin`.
 * Throws what the runtime said, with nothing left behind.
 */
export async function launch(parts: RuntimeParts, request: LaunchRequest): Promise<ProcessIdentity> {
  const { deps, root, cgroups, quickMoves, exits, ooms, launched, others } = parts;
  const { id, spec, terminal, stdin } = request;
  invariant(FULL_ID.test(id), `not a container id: ${id}`);
  if (request.logPath?.includes(':') === true) {
    throw invalidArgument(`log file ${request.logPath}: conmon takes no path with a colon`);
  }
  using _quickMoves = quickMoves.hold();
  root.ensure();
  await removeRemains(parts, id);
  await using rollback = new Rollback(deps.log, { container: id });
  rollback.defer('remove what launch made', async () => {
    await cleanUp(parts, id);
    exits.forget(id);
  });
  const bundle = root.bundle(id);
  const runtime = others.named(request.runtime);
  const record = { cgroupsPath: spec.linux.cgroupsPath, terminal, stdin, ...(runtime && { runtime }) };
  mkdirSync(bundle.path, { mode: 0o700 });
  writeLaunchRecord(bundle.launch, record);
  writeFileSync(bundle.config, encodeSpec(spec), { mode: 0o600 });
  launched.note(id, { record });
  cgroups.expect(record.cgroupsPath);
  failpoint('runtime.launch.bundle');
  using program = parts.program.lease();
  const argv = createArgv(monitorSettings(parts, runtime ?? { path: program.path, args: [] }), {
    id,
    bundle,
    terminal,
    stdin: stdin !== 'none',
    // A terminal stays usable when its client detaches, also with StdinOnce (moby container/stream/attach.go).
    leaveStdinOpen: stdin === 'open' || terminal,
    logPath: request.logPath,
  });
  using monitor = await MonitorProcess.start(argv, {
    cwd: bundle.path,
    ...(terminal && { temporary: parts.temporary }),
    stepwise: false,
  });
  rollback.defer('wait until the monitor can be ended', () => monitor.forked);
  failpoint('runtime.launch.spawn');
  const { data, message } = await monitor.report(limits.launchTimeoutMs);
  if (data < 0) {
    throw runcFailure('create', message ?? '');
  }
  const init = identify(data);
  if (init === undefined) {
    throw internal(`create container ${id}: its init ended at once`, { details: { exitCode: 128 } });
  }
  if (runtime !== undefined) {
    writeInit(bundle.init, init);
  }
  limitLog({ bundle, init }, request.logBytesMax, { id, log: deps.log });
  failpoint('runtime.launch.created');
  launched.note(id, { record, init });
  exits.expect(id, init);
  ooms.expect(id);
  rollback.commit();
  return init;
}

/** An id is launched again and again; what an earlier crash left of it must not be in the way. */
async function removeRemains(parts: RuntimeParts, id: string): Promise<void> {
  const { root, exits, launched } = parts;
  const init = launched.init(id);
  if (init !== undefined && isAlive(init)) {
    throw conflict(`create container ${id}: it is running`);
  }
  if (existsSync(root.bundle(id).path) || existsSync(root.state(id))) {
    await cleanUp(parts, id);
  }
  exits.forget(id);
}
