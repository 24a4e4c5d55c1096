import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { invalidArgument, isEngineError } from '../../../base/errors.ts';
import { toText } from '../../../../storage/files/view.ts';
import { jsonWords } from '../../../base/dockerfile/json-words.ts';
import { expandText } from '../../../base/dockerfile/words.ts';
import { downloadFile } from '../download.ts';
import { flagValue, type Instruction } from '../../../base/dockerfile/instruction.ts';
import { stageIndex } from '../dockerfile/stages.ts';
import { openReadRoot } from '../../../../storage/contexts/roots.ts';
import {
  contextSources,
  downloadedSource,
  failed,
  imageSources,
  type Source,
} from '../../../../storage/contexts/sources.ts';
import { layersOf, type Build, type StageState } from '../state.ts';
import type { StepWork } from '../ports.ts';
import { commitStep, nop, type Step } from './commit-step.ts';
import { stageVariables, whereOf } from './config-step.ts';
import { resolveImage } from '../resolve-image.ts';

const URL_BEGINNING = /^https?:\/\//i;

type CopyWork = StepWork & { kind: 'copy' };

/** What a COPY or ADD says, its variables replaced. */
interface Wanted {
  name: string;
  sources: string[];
  /** Absolute; a slash at its end means a directory. */
  target: string;
  /** As it was written. */
  written: string;
  chown: string;
}

/** COPY and ADD: files of the context, of a stage or of an image become a layer, without any container. */
export async function filesStep(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  const wanted = read(build, state, instruction);
  const from = flagValue(instruction, 'from');
  if (from === undefined) {
    await fromContext(build, state, wanted);
    return;
  }
  const imageId = await sourceImage(build, from);
  await using root = await openReadRoot(build, layersOf(build, imageId));
  const { signal } = build;
  const sources = await imageSources(build.archives, { view: root.view, texts: wanted.sources, signal });
  const works = wanted.sources.map((path) => ({ from: { imageId }, path, unpacks: false }));
  await commit(build, state, { wanted, sources, works });
}

/** What ADD downloads is on disk until the step is done. */
async function fromContext(build: Build, state: StageState, wanted: Wanted): Promise<void> {
  const { name, target } = wanted;
  const downloads: Disposable[] = [];
  try {
    const sources: Source[] = [];
    const works: CopyWork['sources'] = [];
    for (const text of wanted.sources) {
      // As dockerd: a repository by HTTP is a file like others.
      if (!URL_BEGINNING.test(text)) {
        sources.push(...contextSources(build.context.context, text, name));
        works.push({ from: { files: build.context.files }, path: text, unpacks: name === 'ADD' });
      } else if (name === 'COPY') {
        throw failed(name, "source can't be a URL for COPY");
      } else {
        const { entry, fd, files } = await downloadFile(build, text, target);
        downloads.push(files);
        sources.push(downloadedSource(entry, fd));
        works.push({ from: { files }, path: literal(toText(entry.path)), unpacks: false });
      }
    }
    if (sources.length === 0) {
      throw failed(name, 'no source files were specified');
    }
    await commit(build, state, { wanted, sources, works });
  } finally {
    downloads.forEach((files) => files[Symbol.dispose]());
  }
}

/** WORKDIR: the directory is there afterwards. */
export async function workdirStep(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  const options = {
    variables: stageVariables(build, state),
    where: whereOf(instruction),
    escape: build.escape,
  };
  const given = expandText(instruction.rest, options);
  const directory = posix.resolve(state.config.WorkingDir || '/', given);
  const step = {
    config: { ...state.config, WorkingDir: directory },
    command: nop(`WORKDIR ${directory}`, state.config),
    work: { kind: 'directory', name: instruction.written, path: directory },
  } satisfies Step;
  try {
    await commitStep(build, state, step);
  } catch (error) {
    throw isEngineError(error, 'invalid_argument')
      ? invalidArgument(`${options.where}: ${error.message}`, { cause: error })
      : error;
  }
}

function read(build: Build, state: StageState, instruction: Instruction): Wanted {
  const { name, rest } = instruction;
  const options = {
    variables: stageVariables(build, state),
    where: whereOf(instruction),
    escape: build.escape,
  };
  const words = (jsonWords(rest) ?? rest.split(/\s+/)).map((word) => expandText(word, options));
  const sources = words.slice(0, -1);
  const target = words.at(-1) ?? '';
  if (sources.length === 0) {
    throw invalidArgument(
      `${name} requires at least two arguments, but only one was provided. Destination could not be determined.`,
    );
  }
  if (sources.length > 1 && !target.endsWith('/')) {
    throw invalidArgument(
      `When using ${name} with more than one source file, the destination must be a directory and end with a /`,
    );
  }
  const absolute = posix.resolve(state.config.WorkingDir || '/', target);
  const isDirectory = /(?:^|\/)\.?$/.test(target) && absolute !== '/';
  return {
    name,
    sources,
    target: isDirectory ? `${absolute}/` : absolute,
    written: target,
    chown: expandText(flagValue(instruction, 'chown') ?? '', options),
  };
}

async function sourceImage(build: Build, from: string): Promise<string> {
  const index = stageIndex(build.stages, from);
  if (index === undefined && /^\d+$/.test(from)) {
    throw invalidArgument(`invalid from flag value ${from}: index out of bounds`);
  }
  const stage = index === undefined ? undefined : build.stages[index];
  return stage?.imageId ?? (await resolveImage(build, from, build.request.platform ?? '')).row.id;
}

async function commit(
  build: Build,
  state: StageState,
  { wanted, sources, works }: { wanted: Wanted; sources: readonly Source[]; works: CopyWork['sources'] },
): Promise<void> {
  const [first] = sources;
  const kind = sources.length > 1 ? 'multi' : first?.isDirectory === true ? 'dir' : 'file';
  // Without a blank behind it, as dockerd writes it.
  const owner = wanted.chown === '' ? '' : `--chown=${wanted.chown}`;
  await commitStep(build, state, {
    config: state.config,
    command: nop(`${wanted.name} ${owner}${kind}:${digestOf(sources)} in ${wanted.written} `, state.config),
    work: {
      kind: 'copy',
      name: `${wanted.name} ${wanted.written}`,
      sources: works,
      target: wanted.target,
      owner: wanted.chown,
    },
  });
}

/** Of all that the sources bring: names, contents, and whether ADD unpacks them. */
function digestOf(sources: readonly Source[]): string {
  const facts = sources.map((source) => [
    source.name,
    source.isDirectory,
    source.kind === 'member' && source.unpacks,
    source.digest,
  ]);
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

function literal(path: string): string {
  return path.replaceAll(/[*?[\\]/g, String.raw`\$&`);
}
