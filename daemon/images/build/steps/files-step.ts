import { posix } from 'node:path';
import { errnoOf, invalidArgument } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { locate } from '../../../../storage/archives/locate.ts';
import { toBytes, toText, type FilesView } from '../../../../storage/archives/view.ts';
import { jsonWords } from '../../changes.ts';
import { expandText } from '../../words.ts';
import type { Instruction } from '../dockerfile/parse.ts';
import { stageIndex } from '../dockerfile/stages.ts';
import { openReadRoot, openWriteRoot, type WriteRoot } from '../roots.ts';
import { contextSources, imageSources, type Source } from '../sources.ts';
import type { Build, StageState } from '../state.ts';
import { findOwner } from '../owner.ts';
import { unpackArchive } from '../unpack.ts';
import { commitStep, nop } from './commit-step.ts';
import { stageVariables, whereOf } from './config-step.ts';
import { resolveImage } from './from-step.ts';

/** What a COPY or ADD says, its variables replaced. */
interface Wanted {
  name: string;
  sources: string[];
  /** Absolute; a slash at its end means a directory. */
  target: string;
  chown: string;
}

/** COPY and ADD: files of the context, of a stage or of an image become a layer, without any container. */
export async function filesStep(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  const wanted = read(build, state, instruction);
  const from = instruction.flags.get('from');
  if (from === undefined) {
    const sources = contextSources(build, wanted.sources, wanted.name);
    await commit(build, state, { wanted, sources });
    return;
  }
  const imageId = await sourceImage(build, from);
  await using root = await openReadRoot(build, imageId);
  const sources = await imageSources(build, root.view, wanted.sources);
  await commit(build, state, { wanted, sources, sourceView: root.view });
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
  await commitStep(build, state, {
    config: { ...state.config, WorkingDir: directory },
    command: nop(`WORKDIR ${directory}`),
    layer: async () => {
      await using root = await openWriteRoot(build, state.imageId);
      if (statOf(root.view, directory) === 'nothing') {
        const path = toBytes(directory.slice(1));
        await place(build, root, { directories: [path], owner: ROOT });
      }
      return { tar: await root.layer(), containerId: '' };
    },
  });
}

const ROOT = { uid: 0, gid: 0 };

function read(build: Build, state: StageState, instruction: Instruction): Wanted {
  const { name, rest, flags } = instruction;
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
    chown: expandText(flags.get('chown') ?? '', options),
  };
}

async function sourceImage(build: Build, from: string): Promise<string> {
  const index = stageIndex(build.stages, from);
  const stage = index === undefined ? undefined : build.stages[index];
  return stage?.imageId ?? (await resolveImage(build, from, build.request.platform ?? '')).row.id;
}

async function commit(
  build: Build,
  state: StageState,
  from: { wanted: Wanted; sources: readonly Source[]; sourceView?: FilesView },
): Promise<void> {
  const { wanted, sources, sourceView } = from;
  const inputs = sources.map(({ digest }) => digest);
  const kind = sources.length > 1 ? 'multi' : sources[0]?.isDirectory === true ? 'dir' : 'file';
  await commitStep(build, state, {
    config: state.config,
    command: nop(`${wanted.name} ${kind}:${inputs.join(',')} in ${wanted.target} `),
    inputs: [
      wanted.name,
      wanted.chown,
      wanted.target,
      ...sources.map(({ name, isDirectory }) => `${name}${isDirectory ? '/' : ''}`),
    ],
    layer: async () => {
      await using root = await openWriteRoot(build, state.imageId);
      const owner = wanted.chown === '' ? ROOT : findOwner(build, root.view, wanted.chown);
      for (const source of sources) {
        await placeSource(build, root, { wanted, source, owner, ...(sourceView && { sourceView }) });
      }
      failpoint('images.build.copied');
      return { tar: await root.layer(), containerId: '' };
    },
  });
}

async function placeSource(
  build: Build,
  root: WriteRoot,
  options: { wanted: Wanted; source: Source; owner: { uid: number; gid: number }; sourceView?: FilesView },
): Promise<void> {
  const { wanted, source, owner, sourceView } = options;
  const there = statOf(root.view, wanted.target);
  if (wanted.name === 'ADD' && source.kind === 'member' && !source.isDirectory) {
    const directory = wanted.target;
    if (await unpackArchive(build, root.view, { source, directory, isThere: there === 'directory' })) {
      return;
    }
  }
  if (source.isDirectory && there === 'other') {
    throw invalidArgument(`${wanted.name}: cannot copy to non-directory: ${wanted.target}`);
  }
  const isInside = !source.isDirectory && (wanted.target.endsWith('/') || there === 'directory');
  const path = toBytes(wanted.target.replace(/^\/+|\/+$/g, ''));
  const name = isInside ? [path, source.name].filter((part) => part !== '').join('/') : path;
  const directories = source.isDirectory && there === 'nothing' ? [path] : [];
  await place(build, root, {
    owner,
    directories,
    source:
      source.kind === 'member'
        ? { kind: 'members', fd: build.context.fd, members: source.members(name) }
        : { kind: 'tree', view: sourceView ?? root.view, items: [{ path: source.path, name }] },
  });
}

async function place(
  { deps, signal }: Build,
  root: WriteRoot,
  request: Pick<Parameters<Build['deps']['archives']['place']>[0], 'owner' | 'directories'> & {
    source?: Parameters<Build['deps']['archives']['place']>[0]['source'];
  },
): Promise<void> {
  const source = request.source ?? { kind: 'members', fd: -1, members: [] };
  await deps.archives.place({ ...request, source, view: root.view, what: 'build' }, signal);
}

function statOf(view: FilesView, path: string): 'nothing' | 'directory' | 'other' {
  try {
    using found = locate(view, toBytes(path.replace(/(?<=.)\/+$/, '')), { followLast: true });
    return found.status.isDirectory ? 'directory' : 'other';
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return 'nothing';
    }
    if (errnoOf(error) === 'ENOTDIR' || errnoOf(error) === 'ELOOP') {
      throw invalidArgument(`${toText(toBytes(path))}: a part of it is no directory`, { cause: error });
    }
    throw error;
  }
}
