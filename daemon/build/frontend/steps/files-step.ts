import { posix } from 'node:path';
import { invalidArgument } from '../../../base/errors.ts';
import type { CopyFiles, Vertex } from '../../graph/op.ts';
import type { FilesCommand } from '../instructions/command.ts';
import { warnOfIgnored } from '../lint/ignored.ts';
import { document } from '../sources/document.ts';
import { gitSource, httpSource, isGit, isHttp } from '../sources/remote.ts';
import { contextTree, sourceTree } from '../sources/source-tree.ts';
import { addHistory, expanded, expandedDocument, refuseDrive, type StepContext } from './context.ts';
import { numbered, shownText } from './step-name.ts';

const DOCUMENT_MODE = 0o644;
const OCTAL_MAX = 0o7777;
const SYMBOLIC = /^[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+(?:,[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+)*$/;

/** COPY and ADD. */
export function filesStep(context: StepContext, written: FilesCommand): void {
  const { build, stage, state, step } = context;
  const command = expandedCommand(context, written);
  checkChmod(command.chmod);
  checkChecksum(command);
  const shown = shownText(step.instruction.text, { variables: state.env, escape: build.escape });
  const place = { platform: state.platform, env: state.env, isTrigger: step.isTrigger };
  const name = numbered(build, stage, place, shown);
  const copies = new Copies(context, command, name);
  const fresh = stage.isFresh ? { isFresh: true } : {};
  const copied = (below: Vertex | undefined): Vertex => ({
    op: { kind: 'files', actions: copies.actions },
    inputs: [below, ...copies.inputs],
    name,
    lines: step.lines,
    ...fresh,
  });
  // Modes given by --chmod are for directories that are there as well.
  state.tree =
    command.isLinked && command.chmod === '' && state.tree !== undefined
      ? {
          op: { kind: 'merge' },
          inputs: [state.tree, copied(undefined)],
          name: name.replace('] ', '] LINK '),
          lines: step.lines,
          ...fresh,
        }
      : copied(state.tree);
  addHistory(context, `${described(command)} # buildkit`, true);
}

function expandedCommand(context: StepContext, command: FilesCommand): FilesCommand {
  return {
    ...command,
    chown: expanded(context, command.chown),
    chmod: expanded(context, command.chmod),
    checksum: expanded(context, command.checksum),
    sources: command.sources.map((source) => expanded(context, source)),
    destination: expanded(context, command.destination),
    documents: command.documents.map((item) =>
      item.expands ? { ...item, content: expandedDocument(context, item.content) } : item,
    ),
  };
}

/** As the history has it. */
function described({
  kind,
  keepsParents,
  chown,
  chmod,
  sources,
  documents,
  destination,
}: FilesCommand): string {
  return [
    kind.toUpperCase(),
    ...(keepsParents ? ['--parents'] : []),
    ...(chown === '' ? [] : [`--chown=${chown}`]),
    ...(chmod === '' ? [] : [`--chmod=${chmod}`]),
    ...sources,
    ...documents.map((item) => `<<${item.name}`),
    destination,
  ].join(' ');
}

/** What one instruction copies, and the trees that it comes from. */
class Copies {
  readonly actions: CopyFiles[] = [];
  /** From position 1 of the operation's inputs on. */
  readonly inputs: (Vertex | undefined)[] = [];
  readonly #context: StepContext;
  readonly #command: FilesCommand;
  readonly #destination: string;

  constructor(context: StepContext, command: FilesCommand, name: string) {
    this.#context = context;
    this.#command = command;
    this.#destination = destinationOf(context, command.destination);
    for (const source of command.sources) {
      if (isGit(source)) {
        this.#refuseCopy("source can't be a git ref for COPY");
        this.#add(gitSource(source, command, name), '/', false);
      } else if (isHttp(source)) {
        this.#refuseCopy("source can't be a URL for COPY");
        const vertex = httpSource(source, command, name);
        this.#add(vertex, `/${vertex.op.fileName}`, command.unpacks === true);
      } else {
        this.#addPath(source);
      }
    }
    for (const item of command.documents) {
      this.#add(document(item, DOCUMENT_MODE), `/${item.name}`, false);
    }
  }

  /** Several paths of one tree are one action. */
  #addPath(source: string): void {
    const { kind, from, unpacks, keepsParents } = this.#command;
    const tree = this.#treeOf(source);
    const path = keepsParents ? pivotPath(source) : posix.resolve('/', source);
    const last = this.actions.at(-1);
    if (from === '') {
      warnOfIgnored(this.#context, kind, source);
    }
    if (last !== undefined && this.inputs[last.from - 1] === tree && this.actions.length > 0) {
      this.actions.splice(-1, 1, { ...last, sources: [...last.sources, path] });
      return;
    }
    this.#add(tree, path, unpacks ?? kind === 'add');
  }

  #treeOf(source: string): Vertex | undefined {
    const { build, stage } = this.#context;
    const { from } = this.#command;
    const current = JSON.stringify(stage.title);
    return from === ''
      ? contextTree(build, [source])
      : sourceTree(stage, from, {
          paths: [source],
          problem:
            `cannot copy from stage ${JSON.stringify(from)}, ` +
            `it needs to be defined before current stage ${current}`,
        });
  }

  #add(tree: Vertex | undefined, path: string, unpacks: boolean): void {
    const { chown, chmod, keepsParents, exclude } = this.#command;
    const from = this.inputs.push(tree);
    this.actions.push({
      action: 'copy',
      from,
      sources: [path],
      destination: this.#destination,
      owner: chown,
      chmod,
      unpacks,
      keepsParents,
      exclude,
    });
  }

  #refuseCopy(problem: string): void {
    if (this.#command.kind === 'copy') {
      throw invalidArgument(problem);
    }
  }
}

/** Absolute; what ends in a slash, or in a dot, is a directory. */
function destinationOf(context: StepContext, destination: string): string {
  const { state } = context;
  refuseDrive(context, destination);
  const path = posix.resolve('/', state.image.config.WorkingDir ?? '', destination);
  const isDirectory = /(?:^|\/)\.?$/.test(destination);
  return isDirectory && path !== '/' ? `${path}/` : path;
}

/** `/a/./b/c`: what is before the pivot is not made at the destination. */
function pivotPath(source: string): string {
  const at = source.indexOf('/./');
  return at < 0
    ? `/.${posix.resolve('/', source)}`
    : `${posix.resolve('/', source.slice(0, at)).replace(/\/$/, '')}/.${posix.resolve('/', source.slice(at + 3))}`;
}

function checkChmod(chmod: string): void {
  const isOctal = /^[0-7]+$/.test(chmod) && Number.parseInt(chmod, 8) <= OCTAL_MAX;
  if (chmod !== '' && !isOctal && !SYMBOLIC.test(chmod)) {
    throw invalidArgument(
      `invalid chmod parameter: '${chmod}'. it should be octal string and between 0 and 07777`,
    );
  }
}

function checkChecksum({ kind, checksum, sources }: FilesCommand): void {
  if (checksum === '') {
    return;
  }
  const [source = ''] = sources;
  if (kind === 'copy') {
    throw invalidArgument("checksum can't be specified for COPY");
  }
  if (sources.length !== 1) {
    throw invalidArgument("checksum can't be specified for multiple sources");
  }
  if (!isHttp(source) && !isGit(source)) {
    throw invalidArgument('checksum requires HTTP(S) or Git sources');
  }
}
