import { posix } from 'node:path';
import { RULES } from '../lint/rules.ts';
import { addHistory, expanded, refuseDrive, setConfig, type StepContext } from './context.ts';
import { numbered, shownText } from './step-name.ts';

/** WORKDIR: the directory is made, and belongs to the user of the stage. */
export function workdirStep(context: StepContext, command: { path: string }): void {
  const { build, stage, state, step, linter } = context;
  const path = expanded(context, command.path);
  refuseDrive(context, path);
  if (!state.hasWorkdir && !path.startsWith('/')) {
    const detail = `Relative workdir ${JSON.stringify(path)} can have unexpected results if the base image changes`;
    linter.warn(RULES.workdirRelativePath, step.lines, detail);
  }
  state.hasWorkdir = true;
  const directory = posix.resolve('/', state.image.config.WorkingDir ?? '', path);
  setConfig(context, { WorkingDir: directory });
  if (directory !== '/') {
    const shown = shownText(step.instruction.text, { variables: state.env, escape: build.escape });
    const place = { platform: state.platform, env: state.env, isTrigger: step.isTrigger };
    state.tree = {
      op: {
        kind: 'files',
        actions: [{ action: 'mkdir', path: directory, mode: 0o755, owner: state.image.config.User ?? '' }],
      },
      inputs: [state.tree],
      name: numbered(build, stage, place, shown),
      lines: step.lines,
    };
  }
  addHistory(context, `WORKDIR ${directory}`, directory !== '/');
}
