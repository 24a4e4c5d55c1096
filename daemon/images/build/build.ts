import type { Readable } from 'node:stream';
import type { ProgressMessage, RegistryAuth } from '../../../api/types/image.ts';
import type { BuildRequest, PullOptions } from '../../../api/types/ports.ts';
import { EngineError, errorText, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { shortId } from '../../base/ids.ts';
import { familiarName, type Reference } from '../../../storage/references/reference.ts';
import type { ImageContext } from '../context.ts';
import { parseTarget, nameImage } from '../naming.ts';
import { BuildArgs } from './args.ts';
import { CacheSources } from './cache-sources.ts';
import type { Instruction } from '../../base/dockerfile/instruction.ts';
import { parseDockerfile, parseInstruction } from '../../base/dockerfile/parse.ts';
import { CLASSIC } from './dockerfile/dialect.ts';
import { planStages, type Plan, type Stage } from './dockerfile/stages.ts';
import type { BuildDeps, BuildFiles, ClassicDeps, ReceivedContext } from './ports.ts';
import { BuildProgress } from './progress.ts';
import { CommandFailedError } from './run-command.ts';
import type { Build, StageState } from './state.ts';
import { argStep, configStep, maintainerStep, readArgs } from './steps/config-step.ts';
import { filesStep, workdirStep } from './steps/files-step.ts';
import { fromStep } from './steps/from-step.ts';
import { runStep } from './steps/run-step.ts';

/** What builds share. */
export interface BuilderContext extends BuildDeps {
  images: ImageContext;
  pull(options: PullOptions): AsyncIterable<ProgressMessage>;
}

type ClassicContext = BuilderContext & ClassicDeps;

/**
 * Docker's classic builder: instruction by instruction, each an image made of the one before. Errors of the request and
 * of the Dockerfile are thrown before the first message; later ones are the last message. When the client has gone the
 * build ends, and nothing of it runs on.
 */
export async function* buildImage(
  context: ClassicContext,
  tar: Readable,
  request: BuildRequest,
): AsyncGenerator<ProgressMessage> {
  const names = request.tags.map((tag) => parseName(tag));
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, request.signal]);
  const received = await receive(context.files, tar, request, signal);
  using _files = received.files;
  const plan = planBuild(received.dockerfile, request);
  const progress = new BuildProgress();
  const auth = (domain: string): Promise<RegistryAuth> => Promise.resolve(authFor(request.auths, domain));
  const { build, release } = newBuild(context, { request, received, plan, progress, signal, auth });
  const work = runNamed(build, plan, names).finally(() => progress.end());
  // Its failure is thrown below, when all its messages have been passed on.
  work.catch(() => undefined /* see above */);
  try {
    yield* request.quiet ? quietly(progress, work) : progress.messages();
    await work;
  } catch (error) {
    if (!(error instanceof CommandFailedError)) {
      throw error;
    }
    const { message, exitCode } = error;
    yield { errorDetail: { code: exitCode, message }, error: message };
  } finally {
    stop.abort(new EngineError('canceled', 'build: the client closed the connection'));
    progress.end();
    await Promise.allSettled([work]);
    release();
    // Of a step that came to no image.
    await context.images.collector.collect();
  }
}

/** The context that the client sends, or the one at the address that it gives; then the body is not read. */
async function receive(
  files: BuildFiles,
  body: Readable,
  { remote, dockerfile }: BuildRequest,
  signal: AbortSignal,
): Promise<ReceivedContext> {
  if (remote !== '') {
    body.resume();
  }
  return await files.context(remote === '' ? { body } : { remote }, { dockerfile, signal });
}

/** Only the image's id; after a failure, all messages. */
async function* quietly(progress: BuildProgress, work: Promise<string>): AsyncGenerator<ProgressMessage> {
  const said: ProgressMessage[] = [];
  for await (const message of progress.messages()) {
    said.push(message);
  }
  try {
    yield { stream: `${await work}\n` };
  } catch (error) {
    yield* said;
    throw error;
  }
}

/** The stages of a Dockerfile up to the one that is asked for. Throws invalid_argument. Pure. */
function planBuild(dockerfile: string, { target, labels }: Pick<BuildRequest, 'target' | 'labels'>): Plan {
  return withLabels(planStages(parseDockerfile(CLASSIC, dockerfile), target), labels);
}

/** What a build is made of, whoever asked for it. */
interface BuildJob {
  request: BuildRequest;
  received: ReceivedContext;
  plan: Plan;
  progress: BuildProgress;
  signal: AbortSignal;
  auth(domain: string): Promise<RegistryAuth>;
}

/** `release` lets go of the images that the build held. */
function newBuild(
  context: ClassicContext,
  { received, plan, ...job }: BuildJob,
): { build: Build; release: () => void } {
  const holds: Disposable[] = [];
  const build: Build = {
    ...context,
    ...job,
    args: new BuildArgs(job.request.args),
    escape: plan.escape,
    context: received,
    stages: [],
    cacheSources: new CacheSources(context.images.index, job.request.cacheFrom),
    hold: (imageId) => {
      holds.push(context.images.index.hold(imageId));
    },
  };
  return { build, release: () => holds.forEach((hold) => hold[Symbol.dispose]()) };
}

async function runNamed(build: Build, plan: Plan, names: readonly Reference[]): Promise<string> {
  const { progress, args } = build;
  const imageId = await runPlan(build, plan);
  if (args.unused.length > 0) {
    progress.say(`[Warning] One or more build-args [${args.unused.join(' ')}] were not consumed\n`);
  }
  failpoint('images.build.name');
  nameImage(build.images, imageId, names);
  progress.say(`Successfully built ${shortId(imageId)}\n`);
  for (const name of names) {
    progress.say(`Successfully tagged ${familiarName(name)}\n`);
  }
  return imageId;
}

/** Answers the id of the last stage's image. */
async function runPlan(build: Build, plan: Plan): Promise<string> {
  const { progress, args } = build;
  progress.begin(plan);
  for (const instruction of plan.globalArgs) {
    progress.step(instruction);
    for (const { name, fallback } of readArgs(build, instruction, args.globals)) {
      args.declareGlobal(name, fallback);
    }
  }
  let imageId = '';
  for (const stage of plan.stages) {
    imageId = await runStage(build, stage);
    build.stages.push({ name: stage.name, imageId });
    progress.send({ aux: { ID: imageId } });
  }
  return imageId;
}

async function runStage(build: Build, stage: Stage): Promise<string> {
  const { progress } = build;
  build.args.newStage();
  progress.step(stage.from);
  const state = await fromStep(build, stage);
  await runTriggers(build, state, stage);
  for (const instruction of stage.steps) {
    build.signal.throwIfAborted();
    progress.step(instruction);
    await dispatch(build, state, instruction);
    progress.made(state.imageId);
  }
  if (state.imageId === '') {
    throw invalidArgument('No image was generated. Is your Dockerfile empty?');
  }
  return state.imageId;
}

/** ONBUILD of the base. */
async function runTriggers(build: Build, state: StageState, { from }: Stage): Promise<void> {
  const triggers = state.config.OnBuild ?? [];
  if (triggers.length === 0) {
    return;
  }
  state.config = { ...state.config, OnBuild: null };
  build.progress.say(`# Executing ${triggers.length} build trigger${triggers.length === 1 ? '' : 's'}\n`);
  for (const trigger of triggers) {
    const instruction = parseInstruction(CLASSIC, trigger, from.lines);
    if (['ONBUILD', 'FROM', 'MAINTAINER'].includes(instruction.name)) {
      throw invalidArgument(`${instruction.name} isn't allowed as an ONBUILD trigger`);
    }
    await dispatch(build, state, instruction);
    build.progress.made(state.imageId);
  }
}

function dispatch(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  switch (instruction.name) {
    case 'RUN':
      return runStep(build, state, instruction);
    case 'COPY':
    case 'ADD':
      return filesStep(build, state, instruction);
    case 'WORKDIR':
      return workdirStep(build, state, instruction);
    case 'ARG':
      return argStep(build, state, instruction);
    case 'MAINTAINER':
      return maintainerStep(build, state, instruction);
    default:
      return configStep(build, state, instruction);
  }
}

/** Labels of the request are further instructions of the last stage. */
function withLabels(plan: Plan, labels: Readonly<Record<string, string>>): Plan {
  const last = plan.stages.at(-1);
  const keys = Object.keys(labels).toSorted();
  if (last === undefined || keys.length === 0) {
    return plan;
  }
  const added = keys.map((key) => {
    const text = `LABEL ${quote(key)}=${quote(labels[key] ?? '')}`;
    return parseInstruction(CLASSIC, text, { from: 0, to: 0 });
  });
  return { ...plan, stages: [...plan.stages.slice(0, -1), { ...last, steps: [...last.steps, ...added] }] };
}

/** Any text as one word in single quotes. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** Throws invalid_argument. */
export function parseName(text: string): Reference {
  try {
    return parseTarget(text, '');
  } catch (error) {
    throw invalidArgument(errorText(error), { cause: error });
  }
}

/** The CLI names Docker's own registry by its old address, others by host or URL. */
function authFor(auths: Readonly<Record<string, RegistryAuth>>, domain: string): RegistryAuth {
  const names =
    domain === 'docker.io' ? ['https://index.docker.io/v1/', 'docker.io', 'index.docker.io'] : [domain];
  for (const [key, auth] of Object.entries(auths)) {
    const host = key.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
    if (names.includes(key) || (domain !== 'docker.io' && names.includes(host))) {
      return auth;
    }
  }
  return {};
}
