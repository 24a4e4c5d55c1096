import { describe, expect, it } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { parseQuery } from '../../../../daemon/networks/dns/message.ts';
import { askUpstreams } from '../../../../daemon/networks/dns/upstream.ts';
import type { UpstreamSockets } from '../../../../daemon/networks/ports.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';

const message = Buffer.from('123401000001000000000000037765620000010001', 'hex');
const query = parseQuery(message) ?? expect.fail('no query');

/** Servers that say what a test makes them say. */
class Servers implements UpstreamSockets {
  readonly asked: string[] = [];
  readonly closed: string[] = [];
  readonly #reply = new Map<string, (rcode: number) => void>();
  readonly #fail = new Map<string, () => void>();

  exchange(...[{ address }, , handlers]: Parameters<UpstreamSockets['exchange']>) {
    this.#fail.set(address, handlers.failed);
    return {
      send: (sent: Buffer) => {
        this.asked.push(address);
        this.#reply.set(address, (rcode) => {
          const answer = Buffer.from(sent);
          answer.writeUInt16BE(0x8180 | rcode, 2);
          handlers.answered(answer);
        });
      },
      close: () => void this.closed.push(address),
    };
  }

  answer(address: string, rcode = 0): void {
    this.#reply.get(address)?.(rcode);
  }

  fail(address: string): void {
    this.#fail.get(address)?.();
  }
}

function ask(...addresses: string[]) {
  const sockets = new Servers();
  const clock = new ManualClock();
  const servers = addresses.map((address) => ({ address, from: null }));
  const answer = askUpstreams(query, message, { servers, protocol: 'udp', sockets, clock });
  return { sockets, clock, answer };
}

describe('askUpstreams()', () => {
  it('takes the first good answer, with the id of the question', async () => {
    const { sockets, answer } = ask('a', 'b');
    sockets.answer('a');
    expect((await answer)?.readUInt16BE(0)).toBe(0x1234);
    expect([sockets.asked, sockets.closed]).toEqual([['a'], ['a']]);
  });

  it('asks the next one when a server says nothing for a moment, and still takes a late answer', async () => {
    const { sockets, clock, answer } = ask('a', 'b');
    await clock.advance(limits.dnsNextServerMs);
    expect(sockets.asked).toEqual(['a', 'b']);
    sockets.answer('a');
    expect(await answer).toBeDefined();
    expect(sockets.closed).toEqual(['a', 'b']);
  });

  it('asks the next one at once when a server fails, and has no answer when all do', async () => {
    const { sockets, answer } = ask('a', 'b');
    sockets.fail('a');
    expect(sockets.asked).toEqual(['a', 'b']);
    sockets.fail('b');
    expect(await answer).toBeUndefined();
  });

  it('passes on a refusal only when nobody says better', async () => {
    const first = ask('a', 'b');
    first.sockets.answer('a', 2);
    first.sockets.answer('b');
    expect((await first.answer)?.readUInt16BE(2)).toBe(0x8180);
    const second = ask('a', 'b');
    second.sockets.answer('a', 2);
    second.sockets.fail('b');
    expect((await second.answer)?.readUInt16BE(2)).toBe(0x8182);
  });

  it('R57: gives up in time when servers hang', async () => {
    const { clock, answer, sockets } = ask('a', 'b');
    await clock.advance(limits.dnsAnswerMs);
    expect(await answer).toBeUndefined();
    expect(sockets.closed).toEqual(['a', 'b']);
  });

  it('knows no answer where there is nobody to ask', async () => {
    expect(await ask().answer).toBeUndefined();
  });
});
