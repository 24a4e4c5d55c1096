import { expect, test } from 'vitest';
import { onReference } from '../support/engine/engine.ts';
import { needsEngine } from '../support/needs.ts';
import { fillStorm } from './storm/fill.ts';
import { killStorm } from './storm/kill.ts';

const say = (line: string): void => console.log(line);

/** `npm run storm` does the same for longer. */
needsEngine()('a storm', () => {
  test.runIf(!onReference)('R66, R67: of fills and frees refuses nothing and ends no daemon', async () => {
    const { problems } = await fillStorm({ rounds: 4, seed: 11, say });
    expect(problems).toEqual([]);
  });

  test.runIf(!onReference)('R1: of kills loses no line, no exit code and no event', async () => {
    const { problems } = await killStorm({ rounds: 8, seed: 11, say });
    expect(problems).toEqual([]);
  });
});
