import { UnsupportedError } from '../../../base/build-error.ts';
import { isEngineError } from '../../../base/errors.ts';
import { parseDockerfile, parseReadable } from '../../../base/dockerfile/parse.ts';
import { BUILDKIT } from '../dialect.ts';
import { parseLintConfig, type LintWarning } from '../lint/linter.ts';
import { makeGraph, type BuildGraph } from '../make-graph.ts';
import type { BuildOptions, FrontendPorts } from '../options.ts';
import type { Answer, Source } from './answer.ts';
import { describeAnswer } from './describe.ts';
import { lintAnswer } from './lint.ts';
import { outlineAnswer } from './outline.ts';
import { targetsAnswer } from './targets.ts';

export interface SubrequestJob {
  /** `frontend.lint`: what the client asks instead of a build. */
  name: string;
  source: Source;
  options: BuildOptions;
  /** Of the build argument BUILDKIT_DOCKERFILE_CHECK; `''` = what the Dockerfile says. */
  check: string;
}

/**
 * Answers what a client wants to know of a Dockerfile. What is wrong with it is an answer to `frontend.lint`, and an
 * error for the others. Throws UnsupportedError for other names, and invalid_argument.
 */
export async function answerSubrequest(job: SubrequestJob, ports: FrontendPorts): Promise<Answer> {
  switch (job.name) {
    case 'frontend.lint':
      return await checked(job, ports);
    case 'frontend.outline':
      return outlineAnswer(job.source, (await graphOf(job, ports)).target);
    case 'frontend.targets':
      return targetsAnswer(job.source, parseDockerfile(BUILDKIT, job.source.text));
    case 'frontend.subrequests.describe':
      return describeAnswer();
    default:
      throw new UnsupportedError('request', job.name);
  }
}

async function checked(job: SubrequestJob, ports: FrontendPorts): Promise<Answer> {
  const warnings: LintWarning[] = [];
  try {
    await graphOf(job, ports, warnings);
    return lintAnswer(job.source, warnings);
  } catch (error) {
    if (!isEngineError(error) || error.code === 'canceled') {
      throw error;
    }
    return lintAnswer(job.source, warnings, error);
  }
}

/** A check without a target is one of all stages. */
async function graphOf(
  { name, source, options, check }: SubrequestJob,
  ports: FrontendPorts,
  warnings: LintWarning[] = [],
): Promise<BuildGraph> {
  const dockerfile = parseReadable(BUILDKIT, source.text);
  const lint = parseLintConfig(check || dockerfile.directives.check);
  const readsAll = name === 'frontend.lint' && options.target === '';
  return await makeGraph({ dockerfile, options, lint, readsAll, warnings }, ports);
}
