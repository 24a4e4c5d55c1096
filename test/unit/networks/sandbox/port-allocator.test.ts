import { expect, test } from 'vitest';
import type { HostPort } from '../../../../runtime/network/port-reservations.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Turns } from '../../../../daemon/base/concurrency/turns.ts';
import { PortAllocator } from '../../../../daemon/networks/sandbox/port-allocator.ts';
import { planPorts } from '../../../../daemon/networks/sandbox/port-plan.ts';

/** Ports of the host that are held; one of them is a program's. */
function setUp(foreign?: number) {
  const held = new Set<number>();
  let most = 0;
  const kernel = {
    reserve: ({ hostPort }: HostPort) => {
      if (hostPort === foreign) {
        throw Object.assign(new Error('taken'), { code: 'EADDRINUSE' });
      }
      held.add(hostPort);
      most = Math.max(most, held.size);
    },
    release: ({ hostPort }: HostPort) => void held.delete(hostPort),
  };
  return { allocator: new PortAllocator({ kernel, log: silentLogger }), held, most: () => most };
}

const { bindings } = planPorts(
  {
    exposedPorts: [],
    portBindings: Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [
        `${1000 + index}/tcp`,
        [{ HostIp: '127.0.0.1', HostPort: String(21_000 + index) }],
      ]),
    ),
    publishAllPorts: false,
  },
  '0.0.0.0',
);
const to = (turns: Turns) => ({ addresses: [0x0a000002], endpoint: 'web', turns });

test('R58: of 1,000 ports others get their turn in between', async () => {
  const { allocator, held } = setUp();
  let turns = 0;
  const others = setInterval(() => (turns += 1), 0);
  const ports = await allocator.allocateInTurns(bindings, to(new Turns()));
  clearInterval(others);
  expect([ports.length, held.size]).toEqual([1000, 1000]);
  expect(turns).toBeGreaterThan(0);
  allocator.release(ports);
  expect(held.size).toBe(0);
});

test('R58: when the last of 1,000 ports is a program’s, none is held', async () => {
  const { allocator, held, most } = setUp(21_999);
  await expect(allocator.allocateInTurns(bindings, to(new Turns()))).rejects.toThrow(
    'failed to bind host port 127.0.0.1:21999/tcp: address already in use',
  );
  expect([most(), held.size]).toEqual([999, 0]);
  // Nor taken among our own.
  expect((await allocator.allocateInTurns(bindings.slice(0, 999), to(new Turns()))).length).toBe(999);
});

test('R58: of two that want the same ports at the same time one gets them, and the other none', async () => {
  const { allocator, held } = setUp();
  const turns = new Turns();
  const both = await Promise.allSettled([
    allocator.allocateInTurns(bindings, to(turns)),
    allocator.allocateInTurns(bindings.toReversed(), to(turns)),
  ]);
  expect(both.map(({ status }) => status).filter((status) => status === 'fulfilled').length).toBeLessThan(2);
  const [winner] = both.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect(held.size).toBe(winner?.length ?? 0);
});

test('ports that are named are taken before those that may be any, and shown in the order of the client', () => {
  const { allocator } = setUp();
  const { bindings: mixed } = planPorts(
    {
      exposedPorts: [],
      portBindings: {
        '80/tcp': [{ HostIp: '127.0.0.1' }, { HostIp: '127.0.0.1', HostPort: '32769' }],
        '81/tcp': [{ HostIp: '127.0.0.1', HostPort: '32768-32771' }],
        '82/tcp': [{ HostIp: '127.0.0.1', HostPort: '32768' }],
      },
      publishAllPorts: false,
    },
    '0.0.0.0',
  );
  const ports = allocator.allocate(mixed, [0x0a000002], 'web').map(({ hostPort }) => hostPort);
  expect(ports.slice(1)).toEqual([32_769, 32_770, 32_768]);
  expect(ports.slice(1)).not.toContain(ports[0]);
});
