import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { invalidArgument, notImplemented } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { toBytes, type FilesView } from '../../../../storage/files/view.ts';
import { jsonWords } from '../../../base/dockerfile/json-words.ts';
import { expandText } from '../../../base/dockerfile/words.ts';
import { isRepository, isUrl } from '../context/remote.ts';
import { downloadFile } from '../download.ts';
import type { Instruction } from '../dockerfile/parse.ts';
import { stageIndex } from '../dockerfile/stages.ts';
import { openReadRoot, openWriteRoot, statOf, type WriteRoot } from '../../../../storage/contexts/roots.ts';
import {
  contextSources,
  downloadedSource,
  failed,
  imageSources,
  type Source,
} from '../../../../storage/contexts/sources.ts';
import { layersOf, type Build, type StageState } from '../state.ts';
import { placeSource } from '../../../../storage/contexts/place-source.ts';
import { commitStep, nop } from './commit-step.ts';
import { stageVariables, whereOf } from './config-step.ts';
import { resolveImage } from './from-step.ts';

const ROOT = { uid: 0, gid: 0 };

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
  const from = instruction.flags.get('from');
  if (from === undefined) {
    await fromContext(build, state, wanted);
    return;
  }
  const imageId = await sourceImage(build, from);
  await using root = await openReadRoot(build, layersOf(build, imageId));
  const sources = await imageSources(build.archives, {
    view: root.view,
    texts: wanted.sources,
    signal: build.signal,
  });
  await commit(build, state, { wanted, sources, sourceView: root.view });
}

/** What ADD downloads is on disk until the step is done. */
async function fromContext(build: Build, state: StageState, wanted: Wanted): Promise<void> {
  const { name, target } = wanted;
  const downloads: AsyncDisposable[] = [];
  try {
    const sources: Source[] = [];
    for (const text of wanted.sources) {
      if (name === 'ADD' && isRepository(text)) {
        throw notImplemented(`ADD ${text}: repositories are not supported yet`);
      }
      if (!isUrl(text)) {
        sources.push(...contextSources(build.context, text, name));
      } else if (name === 'COPY') {
        throw failed(name, "source can't be a URL for COPY");
      } else {
        const file = await downloadFile(build, text, target);
        downloads.push(file);
        sources.push(downloadedSource(file.entry, file.fd));
      }
    }
    if (sources.length === 0) {
      throw failed(name, 'no source files were specified');
    }
    await commit(build, state, { wanted, sources });
  } finally {
    await Promise.all(downloads.map((file) => file[Symbol.asyncDispose]()));
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
  await commitStep(build, state, {
    config: { ...state.config, WorkingDir: directory },
    command: nop(`WORKDIR ${directory}`, state.config),
    layer: async () => {
      await using root = await openWriteRoot(build, layersOf(build, state.imageId));
      const there = statOf(root.view, directory);
      if (there === 'other') {
        throw invalidArgument(`${whereOf(instruction)}: Cannot mkdir: ${directory} is not a directory`);
      }
      if (there === 'nothing') {
        const path = toBytes(directory.slice(1));
        await place(build, root, { directories: [path], owner: ROOT });
      }
      return { tar: await root.layer(build.signal), containerId: '' };
    },
  });
}

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
    written: target,
    chown: expandText(flags.get('chown') ?? '', options),
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
  from: { wanted: Wanted; sources: readonly Source[]; sourceView?: FilesView },
): Promise<void> {
  const { wanted, sources, sourceView } = from;
  const [first] = sources;
  const kind = sources.length > 1 ? 'multi' : first?.isDirectory === true ? 'dir' : 'file';
  // Without a blank behind it, as dockerd writes it.
  const owner = wanted.chown === '' ? '' : `--chown=${wanted.chown}`;
  await commitStep(build, state, {
    config: state.config,
    command: nop(`${wanted.name} ${owner}${kind}:${digestOf(sources)} in ${wanted.written} `, state.config),
    layer: async () => {
      await using root = await openWriteRoot(build, layersOf(build, state.imageId));
      const ids = wanted.chown === '' ? ROOT : findOwner(build, root.view, wanted.chown);
      for (const source of sources) {
        await placeSource(build, root.view, {
          what: wanted.name,
          source,
          target: wanted.target,
          owner: ids,
          unpacks: wanted.name === 'ADD',
          ...(sourceView && { sourceView }),
        });
      }
      failpoint('images.build.copied');
      return { tar: await root.layer(build.signal), containerId: '' };
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

async function place(
  { archives, signal }: Build,
  root: WriteRoot,
  request: Pick<Parameters<Build['archives']['place']>[0], 'owner' | 'directories'> & {
    source?: Parameters<Build['archives']['place']>[0]['source'];
  },
): Promise<void> {
  const source = request.source ?? { kind: 'members', fd: -1, members: [] };
  await archives.place({ ...request, source, view: root.view, what: 'build' }, signal);
}

/**
 * The owner of what `--chown` copies: names are looked up in the image; without a group it is that of the user's name.
 */
function findOwner(build: Build, view: FilesView, chown: string): { uid: number; gid: number } {
  const [user = '', group = ''] = chown.split(':', 2);
  return build.resolveUser(view.root, `${user}:${group || user}`);
}
