import { formatNano } from '../../daemon/base/clock.ts';
import { invalidArgument } from '../../daemon/base/errors.ts';
import type { LoggedContainer } from './logged-container.ts';

export const DEFAULT_TAG = '{{.ID}}';
/** As `docker info` of the original shows itself to receivers. */
const DAEMON_NAME = 'docker';
const SHORT_ID = 12;

/** Fields of a tag template, with those names of the original's that mean the same. */
const FIELDS: Readonly<Record<string, (container: LoggedContainer) => string>> = {
  ID: ({ id }) => id.slice(0, SHORT_ID),
  FullID: ({ id }) => id,
  ContainerID: ({ id }) => id,
  Name: ({ name }) => name,
  ContainerName: ({ name }) => `/${name}`,
  ImageID: ({ imageId }) => imageId.slice(0, SHORT_ID),
  ImageFullID: ({ imageId }) => imageId,
  ContainerImageID: ({ imageId }) => imageId,
  ImageName: ({ imageName }) => imageName,
  ContainerImageName: ({ imageName }) => imageName,
  ContainerEntrypoint: ({ path }) => path,
  Command: ({ path, args }) => [path, ...args].join(' '),
  ContainerCreated: ({ createdNano }) => formatNano(createdNano),
  DaemonName: () => DAEMON_NAME,
};

const FUNCTIONS: Readonly<Record<string, (value: string, argument: string) => string>> = {
  lower: (value) => value.toLowerCase(),
  upper: (value) => value.toUpperCase(),
  title: (value) =>
    value.replaceAll(/(^|\s)(\S)/g, (_, gap: string, letter: string) => gap + letter.toUpperCase()),
  json: (value) => JSON.stringify(value),
  println: (value) => `${value}\n`,
  truncate: (value, length) => value.slice(0, Number(length)),
};

/**
 * Fills in a tag template, `{{.ImageName}}/{{.Name}}`. Of Go's templates it has fields,
 * `index .ContainerLabels "key"`, and pipes to `lower`, `upper`, `title`, `json`, `truncate`. Throws
 * invalid_argument naming what it does not know. Pure.
 */
export function renderTag(template: string, container: LoggedContainer): string {
  return template.replaceAll(/\{\{-?\s*(.*?)\s*-?\}\}/g, (_, action: string) =>
    evaluate(action, container, template),
  );
}

function evaluate(action: string, container: LoggedContainer, template: string): string {
  const [source = '', ...pipes] = action.split('|').map((part) => part.trim());
  return pipes.reduce((value, pipe) => apply(pipe, value, template), operand(source, container, template));
}

function operand(source: string, container: LoggedContainer, template: string): string {
  const literal = /^"([^"\\]*)"$/.exec(source);
  if (literal !== null) {
    return literal[1] ?? '';
  }
  const label = /^index \.ContainerLabels "([^"\\]*)"$/.exec(source);
  if (label !== null) {
    return container.labels[label[1] ?? ''] ?? '';
  }
  const field = /^\.(\w+)$/.exec(source)?.[1] ?? '';
  if (Object.hasOwn(FIELDS, field)) {
    return FIELDS[field]?.(container) ?? '';
  }
  const call = /^(\w+)(?: (\d+))? (\.\w+|"[^"\\]*")$/.exec(source);
  if (call !== null) {
    return apply(`${call[1]} ${call[2] ?? ''}`.trim(), operand(call[3] ?? '', container, template), template);
  }
  throw unknown(source, template);
}

function apply(pipe: string, value: string, template: string): string {
  const match = /^(\w+)(?: (\d+))?$/.exec(pipe);
  const name = match?.[1] ?? '';
  const run = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (run === undefined || (name === 'truncate') !== (match?.[2] !== undefined)) {
    throw unknown(pipe, template);
  }
  return run(value, match?.[2] ?? '');
}

function unknown(what: string, template: string): Error {
  return invalidArgument(
    `template: log-tag: ${JSON.stringify(template)}: cannot evaluate ${JSON.stringify(what)}`,
  );
}

/** Throws invalid_argument when a template cannot be filled in, whatever the container. */
export function checkTag(template: string | undefined): void {
  if (template) {
    renderTag(template, SAMPLE);
  }
}

const SAMPLE: LoggedContainer = {
  id: '',
  name: '',
  imageId: '',
  imageName: '',
  createdNano: 0n,
  labels: {},
  env: [],
  path: '',
  args: [],
};
