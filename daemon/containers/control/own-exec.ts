import type { ExecCreateRequest } from '../../../api/types/exec.ts';
import { failpoint } from '../../base/failpoint.ts';
import { newId } from '../../base/ids.ts';
import type { ContainerContext } from '../context.ts';
import { execTarget } from '../control/exec-target.ts';
import type { ExecProcess } from '../stdio/process-streams.ts';

/**
 * A further process in a running container, of which only the engine knows. Throws as exec does: conflict where the
 * container does not run, with details.exitCode where the command is at fault.
 */
export async function execForEngine(
  context: ContainerContext,
  ref: string,
  request: ExecCreateRequest,
): Promise<ExecProcess> {
  const target = execTarget(context, ref);
  using _launching = target.launching();
  failpoint('containers.exec.own');
  return await context.runtime.exec({
    containerId: target.id,
    execId: newId(),
    process: target.process(request),
    stdin: request.AttachStdin ?? false,
  });
}
