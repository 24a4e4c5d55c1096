import { expect, test } from 'vitest';
import { drawing } from '../../../scripts/bench/drawing.ts';
import { merged, replaced, table, type Recorded } from '../../../scripts/bench/record.ts';

const ROW: Recorded = {
  name: 'ping',
  what: 'ping & <co>',
  unit: 'ms',
  target: 1.2,
  berth: 0.27,
  docker: 0.26,
  ratio: 0.27 / 0.26,
  loopDelayP99Ms: 3.21,
  peakRssMb: 123.4,
  missed: false,
  day: '2026-11-22',
};

test('bench: a record keeps what was not measured now, and drops workloads that are gone', () => {
  const before = [
    { ...ROW, name: 'list', day: '2026-11-20' },
    { ...ROW, name: 'gone' },
    { ...ROW, berth: 9 },
  ];
  expect(merged(before, [ROW], ['ping', 'list', 'new'])).toEqual([
    ROW,
    { ...ROW, name: 'list', day: '2026-11-20' },
  ]);
});

test('bench: the table says what was measured earlier and what missed its target, and leaves out the unknown', () => {
  const rows: Recorded[] = [
    ROW,
    { ...ROW, what: 'starts', berth: 2800, docker: 10_200, ratio: 0.2745, target: 0.25, missed: true },
    {
      ...ROW,
      what: 'memory',
      unit: 'kB',
      berth: 68_000,
      docker: undefined,
      ratio: undefined,
      target: null,
      loopDelayP99Ms: undefined,
      peakRssMb: undefined,
      day: '2026-11-20',
    },
    { ...ROW, what: 'connection', unit: 'us', berth: 44.9, docker: 33.2, ratio: 1.352, target: 1 / 0.95 },
  ];
  expect(table({ machine: 'Linux 6.18', rows })).toBe(
    [
      '2026-11-22, Linux 6.18. Medians; what missed its target is bold.',
      '',
      '| workload | berthd | dockerd | ratio | target | loop p99 | peak memory |',
      '|---|---|---|---|---|---|---|',
      '| ping & <co> | 0.27 ms | 0.26 ms | 1.04 | 1.2 | 3.21 ms | 123 MB |',
      '| starts | 2.80 s | 10.2 s | **0.27** | 0.25 | 3.21 ms | 123 MB |',
      '| memory (2026-11-20) | 68.0 MB |  |  |  |  |  |',
      '| connection | 44.9 us | 33.2 us | 1.35 | 1.05 | 3.21 ms | 123 MB |',
    ].join('\n'),
  );
});

test('bench: the table goes between its marks, and nowhere without them', () => {
  const marks = ['<!-- npm run bench -- --record writes from here -->', '<!-- to here -->'];
  expect(replaced(`a\n${marks.join('\nold\n')}\nb`, 'new')).toBe(`a\n${marks.join('\nnew\n')}\nb`);
  expect(() => replaced('a', 'new')).toThrow('ARCHITECTURE.md has no <!-- npm run bench');
});

test('bench: the picture has a bar for each workload of both engines, in well-formed XML', () => {
  const svg = drawing([
    ROW,
    { ...ROW, docker: undefined, ratio: undefined },
    // Compared with something that is no dockerd.
    { ...ROW, otherThanDocker: true },
    { ...ROW, ratio: 7, missed: true },
  ]);
  expect(svg.match(/<rect /g)).toHaveLength(2);
  expect(svg).toContain('ping &amp; &lt;co&gt;');
  expect(svg).toContain('width="259.6"');
  // Cut off, but the number is told.
  expect(svg).toContain('width="300.0"');
  expect(svg).toContain('7.00  (0.27 ms : 0.26 ms)');
  const names = (pattern: RegExp): string => [...svg.matchAll(pattern)].map(([, name]) => name).join(' ');
  expect(names(/<(\w+)(?:\s[^>]*[^/>])?>/g)).toBe(`svg ${names(/<\/(\w+)>/g)}`.replace(/ svg$/, ''));
});
