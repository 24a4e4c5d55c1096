import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, type Comment, type Program } from 'oxc-parser';

export const repositoryRoot = path.resolve(import.meta.dirname, '../..');

/** One rule broken at one place. */
export interface Finding {
  file: string;
  line: number;
  message: string;
}

/** A source file, parsed once for all rules. Positions in the syntax tree are offsets into `text`. */
export interface Source {
  /** Relative to the repository, with `/`. */
  file: string;
  text: string;
  lines: string[];
  program: Program;
  comments: Comment[];
  lineOf(offset: number): number;
}

/** A node of the syntax tree, as the walker hands it out: `type` and position are all that every node has. */
export interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

/** Files of the repository that git knows or would add, relative to it. `patterns` as git takes them. */
export function repositoryFiles(...patterns: string[]): string[] {
  const output = execFileSync(
    'git',
    // A clone made by another user is not dubious here: nothing of its configuration is run by ls-files.
    ['-c', 'safe.directory=*', 'ls-files', '--cached', '--others', '--exclude-standard', ...patterns],
    { cwd: repositoryRoot, encoding: 'utf8' },
  );
  // A file deleted but not yet committed is still listed.
  return [...new Set(output.split('\n'))].filter(
    (file) => file !== '' && existsSync(path.join(repositoryRoot, file)),
  );
}

export function readSource(file: string): Source {
  return parseSource(file, readFileSync(path.join(repositoryRoot, file), 'utf8'));
}

/** Parses `text` as the file of this name. Broken syntax is the compiler's business: the tree is then empty. */
export function parseSource(file: string, text: string): Source {
  const { program, comments } = parseSync(file, text);
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    starts.push(at + 1);
  }
  return {
    file,
    text,
    lines: text.split('\n'),
    program,
    comments,
    lineOf: (offset) => starts.findLastIndex((start) => start <= offset) + 1,
  };
}

/** Visits every node of the tree, parents first. */
export function walk(node: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(node)) {
    for (const item of node) {
      walk(item, visit);
    }
    return;
  }
  if (!isNode(node)) {
    return;
  }
  visit(node);
  for (const value of Object.values(node)) {
    if (typeof value === 'object' && value !== null) {
      walk(value, visit);
    }
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Prints findings as `file:line message`, sorted, and answers how many there were. */
export function report(title: string, findings: readonly Finding[]): number {
  const sorted = [...findings].toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  for (const { file, line, message } of sorted) {
    console.log(`${file}:${line}  ${message}`);
  }
  console.log(findings.length === 0 ? `${title}: nothing found` : `${title}: ${findings.length} found`);
  return findings.length;
}
