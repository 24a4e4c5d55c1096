import { expect, test } from 'vitest';
import { returnRequest } from '../../../../api/buildkit/proto/gateway.ts';
import { returnedResults } from '../../../../api/buildkit/services/gateway-results.ts';

/** Results for two platforms, in an order that the client names. */
function returned(order: string): string[] {
  const sent = returnRequest.encode({
    result: {
      refs: {
        refs: new Map([
          ['linux/amd64', { id: 'amd', def: undefined }],
          ['linux/arm64', { id: 'arm', def: undefined }],
        ]),
      },
      metadata: new Map([['refs.platforms', Buffer.from(order)]]),
    },
  });
  return returnedResults(returnRequest.decode(sent).result).map(({ ref }) => ref);
}

test('results of several platforms come in the order that the client names', () => {
  expect(returned('{"Platforms":[{"ID":"linux/arm64"},{"ID":"linux/amd64"}]}')).toEqual(['arm', 'amd']);
});

test('an order that is no JSON is refused by the name of its field', () => {
  expect(() => returned('{"Platforms":')).toThrow(/^refs\.platforms: /);
});
