import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../../support/needs.ts';
import { MeshBed, published } from './mesh-bed.ts';

const A = '10.30.0.11';
const B = '10.30.0.12';
const A6 = 'fd30::11';
const B6 = 'fd30::12';

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('published ports of a swarm', () => {
  let bed: MeshBed;

  beforeAll(async () => {
    bed = new MeshBed();
    bed.open();
    await bed.backend('a', 'a', 11);
    await bed.backend('b', 'b', 12);
  });
  afterAll(() => {
    bed[Symbol.dispose]();
  });

  /** To two tasks on two hosts, by tcp and udp; those of IPv6 listen at another port. */
  function publishBoth(): void {
    bed.mesh(published(8080, 80, [A, B]), published(8080, 80, [A, B], 'udp'), published(8086, 81, [A6, B6]));
  }

  describe('are answered by all tasks in turn', () => {
    beforeAll(publishBoth);

    test.each(['a', 'b'] as const)('from outside, at host %s', async (name) => {
      const found = await bed.answers(10, bed.client, MeshBed.address(name), 8080);
      const node = name === 'a' ? '10.30.0.2' : '10.30.0.3';
      expect(found).toEqual({ [`a ${node}`]: 5, [`b ${node}`]: 5 });
      const found6 = await bed.answers(4, bed.client, MeshBed.address(name, 6), 8086);
      const node6 = name === 'a' ? 'fd30::2' : 'fd30::3';
      expect(found6).toEqual({ [`a ${node6}`]: 2, [`b ${node6}`]: 2 });
    });

    test.each(['198.51.100.1', '192.0.2.1', '127.0.0.1', '127.0.0.9'])(
      'from the host itself, at %s',
      async (address) => {
        const found = await bed.answers(4, bed.host('a').netns, address, 8080);
        expect(found).toEqual({ 'a 10.30.0.2': 2, 'b 10.30.0.2': 2 });
      },
    );

    test('from the host itself, at its address of IPv6', async () => {
      const found = await bed.answers(4, bed.host('a').netns, MeshBed.address('a', 6), 8086);
      expect(found).toEqual({ 'a fd30::2': 2, 'b fd30::2': 2 });
    });
  });
});
