import { describe, expect, it } from 'vitest';
import { Reach } from '../../../../../daemon/networks/overlay/reach/reach.ts';

/** Turns in which these hosts have answered; the last one's result. */
function turns(reach: Reach, wanted: string[], ...answered: string[][]): ReturnType<Reach['turn']> {
  const results = answered.map((each) => reach.turn(new Set(wanted), each));
  return results.at(-1) ?? expect.fail('no turns');
}

function newReach(askedPerTurnMax = 10): Reach {
  return new Reach({ askedPerTurnMax, unansweredMax: 3 });
}

const at = (...hosts: string[]): { nodeAddr: string }[] => hosts.map((nodeAddr) => ({ nodeAddr }));

describe('turn()', () => {
  it('a host that answered and then does not is silent after three questions, and back with its next answer', () => {
    const reach = newReach();
    turns(reach, ['a', 'b'], [], ['a', 'b'], ['b'], ['b']);
    expect([turns(reach, ['a', 'b'], ['b']), reach.isSilent('a')]).toEqual([
      { ask: ['a', 'b'], changed: ['a'] },
      true,
    ]);
    expect(turns(reach, ['a', 'b'], ['b']).changed).toEqual([]);
    expect([turns(reach, ['a', 'b'], ['a']).changed, reach.isSilent('a')]).toEqual([['a'], false]);
  });

  it('a host that never answered is never silent: such questions may be kept from it', () => {
    const reach = newReach();
    expect([turns(reach, ['a'], [], [], [], [], [], []).changed, reach.isSilent('a')]).toEqual([[], false]);
  });

  it('one answer of three is enough', () => {
    const reach = newReach();
    turns(reach, ['a'], [], ['a'], [], [], ['a'], [], []);
    expect(reach.isSilent('a')).toBe(false);
  });

  it('more hosts than a turn has questions: each is asked in its turn', () => {
    const reach = newReach(2);
    const asked = [1, 2, 3].map(() => turns(reach, ['a', 'b', 'c'], []).ask.join(' '));
    expect(asked).toEqual(['a b', 'c a', 'b c']);
  });

  it('a host without tasks is forgotten; when it has some again it has never answered', () => {
    const reach = newReach();
    turns(reach, ['a'], [], ['a'], [], [], [], []);
    expect(reach.isSilent('a')).toBe(true);
    turns(reach, [], []);
    expect([reach.isSilent('a'), turns(reach, ['a'], [], [], [], [], []).changed]).toEqual([false, []]);
  });

  it('an answer of a host that was not asked means nothing', () => {
    expect(turns(newReach(), ['a'], ['x'])).toEqual({ ask: ['a'], changed: [] });
  });
});

describe('of()', () => {
  it('leaves out tasks of silent hosts, and none where all are', () => {
    const reach = newReach();
    turns(reach, ['a', 'b'], [], ['a', 'b'], ['b'], ['b'], ['b']);
    expect([reach.of(at('a', 'b', 'a')), reach.of(at('a', 'a')), reach.of(at())]).toEqual([
      at('b'),
      at('a', 'a'),
      [],
    ]);
  });

  it('clear(): where this host cannot ask any more, all take connections', () => {
    const reach = newReach();
    turns(reach, ['a', 'b'], [], ['a', 'b'], ['b'], ['b'], ['b']);
    expect([reach.clear(), reach.of(at('a', 'b'))]).toEqual([['a'], at('a', 'b')]);
  });
});
