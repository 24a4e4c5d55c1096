import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import path from 'node:path';
import { repositoryRoot } from '../lib/sources.ts';
import { drawing } from './drawing.ts';
import { amount, number, type Result } from './report.ts';

/** A row as it is kept, with the day it was measured on. */
export interface Recorded extends Result {
  day: string;
}

export interface Record {
  /** Where it was measured: one line. */
  machine: string;
  rows: Recorded[];
}

const RECORD = path.join(repositoryRoot, 'scripts/bench/record.json');
const PICTURE = path.join(repositoryRoot, 'scripts/bench/record.svg');
const DOCUMENT = path.join(repositoryRoot, 'ARCHITECTURE.md');
const BEGIN = '<!-- npm run bench -- --record writes from here -->';
const END = '<!-- to here -->';

/** Takes over what was measured now, and writes record.json, the picture and ARCHITECTURE's table anew. */
export function record(results: readonly Result[], order: readonly string[]): void {
  const before: Record = existsSync(RECORD)
    ? JSON.parse(readFileSync(RECORD, 'utf8'))
    : { machine: '', rows: [] };
  const day = new Date().toISOString().slice(0, 10);
  const rows = merged(
    before.rows,
    results.map((result) => ({ ...result, day })),
    order,
  );
  const all = { machine: machine(), rows };
  writeFileSync(RECORD, `${JSON.stringify(all, undefined, 2)}\n`);
  writeFileSync(PICTURE, drawing(rows));
  writeFileSync(DOCUMENT, replaced(readFileSync(DOCUMENT, 'utf8'), table(all)));
}

/** Rows of workloads that were not measured this time stay; those of workloads that are gone go. Pure. */
export function merged(
  before: readonly Recorded[],
  now: readonly Recorded[],
  order: readonly string[],
): Recorded[] {
  const rows = new Map([...before, ...now].map((row) => [row.name, row]));
  return order.flatMap((name) => rows.get(name) ?? []);
}

/** The rows as Markdown. Pure. */
export function table({ machine: where, rows }: Record): string {
  const newest =
    rows
      .map(({ day }) => day)
      .toSorted()
      .at(-1) ?? '';
  const lines = rows.map((row) => {
    const older = row.day === newest ? '' : ` (${row.day})`;
    const target = row.target === null ? '' : String(Number(row.target.toFixed(2)));
    const ratio = row.ratio === undefined ? '' : row.ratio.toFixed(2);
    const cells = [
      `${row.what}${older}`,
      amount(row.berth, row.unit),
      amount(row.docker, row.unit),
      row.missed ? `**${ratio || 'missed'}**` : ratio,
      target,
      row.loopDelayP99Ms === undefined ? '' : `${number(row.loopDelayP99Ms)} ms`,
      row.peakRssMb === undefined ? '' : `${number(row.peakRssMb)} MB`,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    `${newest}, ${where}. Medians; what missed its target is bold.`,
    '',
    '| workload | berthd | dockerd | ratio | target | loop p99 | peak memory |',
    '|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

/** The document with this text between its marks. Pure. Throws where there are none. */
export function replaced(document: string, text: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END, begin);
  if (begin === -1 || end === -1) {
    throw new Error(`ARCHITECTURE.md has no ${begin === -1 ? BEGIN : END}`);
  }
  return `${document.slice(0, begin + BEGIN.length)}\n${text}\n${document.slice(end)}`;
}

function machine(): string {
  return [
    `Linux ${/^\d+\.\d+/.exec(release())?.[0] ?? release()}`,
    `${cpus().length} processors`,
    `${Math.round(totalmem() / 2 ** 30)} GB`,
    versionOf('dockerd'),
    versionOf('runc'),
    `Node.js ${process.versions.node}`,
  ].join(', ');
}

function versionOf(program: string): string {
  const said = execFileSync(program, ['--version'], { encoding: 'utf8' });
  return `${program} ${/version ([\d.]+)/.exec(said)?.[1] ?? ''}`.trim();
}
