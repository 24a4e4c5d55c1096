import path from 'node:path';
import { isNode, walk, type Finding, type Node, type Source } from './sources.ts';

const FILE_LINES_WARN = 400;
const FILE_LINES_MAX = 500;
const FUNCTION_LINES_MAX = 70;
const FOLDER_FILES_MAX = 20;
/** A folder of many files of one form: a change between API versions each. */
const LONG_FOLDERS: ReadonlySet<string> = new Set(['api/versions/changes']);
/** The formatter keeps code at 110; a sentence of a comment may run a little further. */
const LINE_LENGTH_MAX = 120;

/** A file with this tag in a comment handles paths that an image, a container or a client chose. */
const HOSTILE_TAG = '@path-hostile';

export interface TidyFinding extends Finding {
  /** Warnings are printed and do not fail. */
  severity: 'error' | 'warning';
}

type Rule = (source: Source, add: (line: number, message: string) => void) => void;

/** Every finding of every rule in one file. */
export function tidy(source: Source): TidyFinding[] {
  const findings: TidyFinding[] = [];
  for (const rule of rules) {
    rule(source, (line, message) => {
      findings.push({ file: source.file, line, message, severity: 'error' });
    });
  }
  const lines = source.lines.length - 1;
  if (lines > FILE_LINES_WARN && lines <= FILE_LINES_MAX) {
    findings.push({
      file: source.file,
      line: 1,
      message: `${lines} lines: past ${FILE_LINES_WARN} a file usually holds two nouns`,
      severity: 'warning',
    });
  }
  return findings;
}

/** Folders in which more files stand side by side than a reader can keep apart. `files`: all of the repository. */
export function crowdedFolders(files: readonly string[]): TidyFinding[] {
  const counts = new Map<string, number>();
  for (const folder of files.map((file) => path.posix.dirname(file))) {
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder, count]) => count > FOLDER_FILES_MAX && !LONG_FOLDERS.has(folder))
    .map(([folder, count]) => ({
      file: folder,
      line: 1,
      message: `${count} files side by side: a folder holds at most ${FOLDER_FILES_MAX}`,
      severity: 'error',
    }));
}

/** What a merge leaves in a text where it could not decide. No compiler looks into prose. */
export function mergeMarks(file: string, text: string): TidyFinding[] {
  return text.split('\n').flatMap((line, index) =>
    /^(?:<{7}|>{7}) /.test(line)
      ? [
          {
            file,
            line: index + 1,
            message: 'a mark of a merge was left behind',
            severity: 'error' as const,
          },
        ]
      : [],
  );
}

const rules: readonly Rule[] = [
  sizes,
  longFunctions,
  commentsLeftBehind,
  silencedTools,
  consoleUse,
  moduleMocks,
  focusedTests,
  silentCatches,
  floatingPromises,
  defaultExports,
  unexplainedAssertions,
  hostilePaths,
];

function sizes(source: Source, add: (line: number, message: string) => void): void {
  const lines = source.lines.length - 1;
  if (lines > FILE_LINES_MAX) {
    add(1, `${lines} lines: a file holds at most ${FILE_LINES_MAX}`);
  }
  source.lines.forEach((line, index) => {
    // An address cannot be broken.
    if (line.length > LINE_LENGTH_MAX && !/https?:\/\/\S{60}/.test(line)) {
      add(index + 1, `${line.length} characters: a line holds at most ${LINE_LENGTH_MAX}`);
    }
  });
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

function longFunctions(source: Source, add: (line: number, message: string) => void): void {
  if (isTest(source.file)) {
    // The body of a `describe` is a list, not an algorithm.
    return;
  }
  walk(source.program.body, (node) => {
    if (FUNCTIONS.has(node.type)) {
      const first = source.lineOf(node.start);
      const lines = source.lineOf(node.end) - first + 1;
      if (lines > FUNCTION_LINES_MAX) {
        add(first, `a function of ${lines} lines: at most ${FUNCTION_LINES_MAX}`);
      }
    }
  });
}

function commentsLeftBehind(source: Source, add: (line: number, message: string) => void): void {
  for (const comment of source.comments) {
    const word = /\b(TODO|FIXME|XXX|HACK)\b/.exec(comment.value)?.[1];
    if (word !== undefined && !isAboutRules(source.file)) {
      add(source.lineOf(comment.start), `${word} left behind: do it, or say in the README what is not there`);
    }
  }
}

function silencedTools(source: Source, add: (line: number, message: string) => void): void {
  for (const comment of source.comments) {
    const silencer =
      /(eslint|oxlint|biome|prettier|oxfmt|knip)-(disable|ignore)|@ts-(ignore|expect-error|nocheck)/.exec(
        comment.value,
      )?.[0];
    if (silencer !== undefined) {
      add(source.lineOf(comment.start), `${silencer}: change the code, or the rule for everybody`);
    }
  }
}

function consoleUse(source: Source, add: (line: number, message: string) => void): void {
  if (/^(scripts|test)\//.test(source.file)) {
    return;
  }
  walk(source.program.body, (node) => {
    if (node.type === 'MemberExpression' && textOf(source, node['object']) === 'console') {
      add(
        source.lineOf(node.start),
        'console: use the logger, or process.stdout for what a person asked for',
      );
    }
  });
}

function moduleMocks(source: Source, add: (line: number, message: string) => void): void {
  for (const call of calls(source, /^vi\.(mock|doMock|hoisted|importMock)$/)) {
    add(source.lineOf(call.start), 'module mocks hide the wiring: use the real thing, or a fake of a port');
  }
}

function focusedTests(source: Source, add: (line: number, message: string) => void): void {
  if (!isTest(source.file)) {
    return;
  }
  for (const call of calls(source, /^(test|it|describe)\.(only|skip|todo)$/)) {
    add(source.lineOf(call.start), 'focused or skipped test: use needs() for what a machine may lack');
  }
}

/** An empty `catch {}` and a `.catch(() => undefined)` say nothing about why that is safe. */
function silentCatches(source: Source, add: (line: number, message: string) => void): void {
  walk(source.program.body, (node) => {
    if (node.type === 'CatchClause' && isNode(node['body'])) {
      const body = node['body'];
      if (isEmptyList(body['body']) && !hasComment(source, body.start, body.end)) {
        add(source.lineOf(node.start), 'empty catch: say why nothing has to be done');
      }
    }
    const callee = node.type === 'CallExpression' ? node['callee'] : undefined;
    if (!isNode(callee) || !textOf(source, callee).endsWith('.catch')) {
      return;
    }
    const handler = Array.isArray(node['arguments']) ? textOf(source, node['arguments'][0]) : '';
    if (/^\(\) => (undefined|null|\{\s*\})$/.test(handler) && !explained(source, node)) {
      add(source.lineOf(node.end), '.catch that drops the error: say in the line above why that is safe');
    }
  });
}

/**
 * `void promise` is work that is not awaited: an error of it would end the daemon. So each ends in a `.catch`, also
 * where the function is said never to reject; what its handler may be is a matter of `silentCatches`.
 */
function floatingPromises(source: Source, add: (line: number, message: string) => void): void {
  if (/^(scripts|test)\//.test(source.file)) {
    return;
  }
  walk(source.program.body, (node) => {
    const operand =
      node.type === 'UnaryExpression' && node['operator'] === 'void' ? node['argument'] : undefined;
    // `a?.b()` is a call inside a chain.
    const call = isNode(operand) && operand.type === 'ChainExpression' ? operand['expression'] : operand;
    if (
      isNode(call) &&
      call.type === 'CallExpression' &&
      !textOf(source, call['callee']).endsWith('.catch')
    ) {
      add(source.lineOf(node.start), 'void of a call: end it in a .catch that says what went wrong');
    }
  });
}

function defaultExports(source: Source, add: (line: number, message: string) => void): void {
  if (source.file.endsWith('.config.ts')) {
    return;
  }
  walk(source.program.body, (node) => {
    if (node.type === 'ExportDefaultDeclaration') {
      add(source.lineOf(node.start), 'default export: exports have names');
    }
  });
}

function unexplainedAssertions(source: Source, add: (line: number, message: string) => void): void {
  if (/^(scripts|test)\//.test(source.file)) {
    return;
  }
  walk(source.program.body, (node) => {
    if (node.type === 'TSAsExpression' && textOf(source, node['typeAnnotation']) !== 'const') {
      if (!explained(source, node)) {
        add(source.lineOf(node.start), 'type assertion without its reason in the line above');
      }
    }
  });
}

function hostilePaths(source: Source, add: (line: number, message: string) => void): void {
  if (!source.comments.some((comment) => comment.value.includes(HOSTILE_TAG)) || isAboutRules(source.file)) {
    return;
  }
  walk(source.program.body, (node) => {
    if (node.type === 'ImportDeclaration' && node['importKind'] !== 'type' && isNode(node['source'])) {
      if (/^(node:)?fs(\/promises)?$/.test(String(node['source']['value']))) {
        add(
          source.lineOf(node.start),
          `plain fs in a file marked ${HOSTILE_TAG}: open with openat2 below a root, then use descriptors`,
        );
      }
    }
  });
}

function calls(source: Source, callee: RegExp): Node[] {
  const found: Node[] = [];
  walk(source.program.body, (node) => {
    if (node.type === 'CallExpression' && callee.test(textOf(source, node['callee']))) {
      found.push(node);
    }
  });
  return found;
}

/** A comment between the line above the node and the line of its end. */
function explained(source: Source, node: Node): boolean {
  const first = source.lineOf(node.start) - 1;
  const last = source.lineOf(node.end);
  return source.comments.some((comment) => {
    const line = source.lineOf(comment.end);
    return line >= first && line <= last;
  });
}

function hasComment(source: Source, start: number, end: number): boolean {
  return source.comments.some((comment) => comment.start >= start && comment.end <= end);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function textOf(source: Source, node: unknown): string {
  return isNode(node) ? source.text.slice(node.start, node.end) : '';
}

function isTest(file: string): boolean {
  return file.startsWith('test/');
}

/** These files name the words they forbid. */
function isAboutRules(file: string): boolean {
  return file.startsWith('scripts/lib/') || file.startsWith('test/unit/scripts/');
}
