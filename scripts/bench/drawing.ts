import { amount, type Result } from './report.ts';

const WIDTH = 920;
const LABEL = 430;
const ROW = 22;
const TOP = 44;
/** Pixels that stand for dockerd's time. */
const ONE = 250;
const REACHED = '#2f81c7';
const MISSED = '#d9822b';
/** What is drawn at most of a bar that is longer than dockerd's. */
const LONGEST = 1.2;

/**
 * The workloads that both engines did, as bars: berthd's share of what dockerd took. An SVG without scripts and fonts
 * of its own, readable on light and dark pages. Pure.
 */
export function drawing(results: readonly Result[]): string {
  const rows = results.filter(
    ({ ratio, otherThanDocker }) => ratio !== undefined && otherThanDocker !== true,
  );
  const height = TOP + rows.length * ROW + 14;
  const line = LABEL + ONE;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}"`,
    `  viewBox="0 0 ${WIDTH} ${height}" role="img" font-family="sans-serif" font-size="12" fill="#808080">`,
    '<title>Time and memory of berthd as a share of dockerd</title>',
    `<text x="${LABEL}" y="16" fill="${REACHED}" font-weight="bold">berthd</text>`,
    `<text x="${line}" y="16" text-anchor="middle">dockerd = 1</text>`,
    `<line x1="${line}" y1="24" x2="${line}" y2="${height - 6}" stroke="#808080" stroke-dasharray="3 3"/>`,
    ...rows.map((row, index) => bar(row, TOP + index * ROW)),
    '</svg>',
    '',
  ].join('\n');
}

function bar({ what, unit, berth, docker, ratio = 0, missed }: Result, y: number): string {
  const length = Math.max(1, Math.min(ratio, LONGEST) * ONE);
  const said = `${ratio.toFixed(2)}  (${amount(berth, unit)} : ${amount(docker, unit)})`;
  return [
    `<text x="${LABEL - 8}" y="${y + 4}" text-anchor="end">${escaped(what)}</text>`,
    `<rect x="${LABEL}" y="${y - 7}" width="${length.toFixed(1)}" height="14" fill="${missed ? MISSED : REACHED}"/>`,
    `<text x="${Math.max(LABEL + length, ratio > 0.9 ? LABEL + ONE : 0) + 8}" y="${y + 4}">${said}</text>`,
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
