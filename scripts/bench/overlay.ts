import { atClient, DOOR_PORT, leads, OverlayBed, SINK_PORT, type Way, type WayName } from './overlay-bed.ts';
import type { Workload } from './workload.ts';

const MEGABYTES = 256;
const CONNECTIONS = 2000;
/** Of the time that as many bytes take without Berth: 0.95 of its throughput. */
const SHARE = 1 / 0.95;
/** Microseconds that a connection may take longer. */
const LONGER_US = 30;

/** Prints milliseconds. */
const send = ({ address }: Way): string => `import socket, time
s = socket.create_connection(('${address}', ${SINK_PORT}), 5)
b = bytes(1 << 20); begin = time.perf_counter()
for _ in range(${MEGABYTES}): s.sendall(b)
s.shutdown(1); assert s.recv(1) == b'.'
print((time.perf_counter() - begin) * 1000)`;

/** Prints the median in microseconds. Each is cut off, so that no port waits for its next use. */
const connect = ({ address }: Way): string => `import socket, struct, time
took = []
for _ in range(${CONNECTIONS}):
    s = socket.socket(); s.settimeout(5); s.setsockopt(1, 13, struct.pack('ii', 1, 0))
    begin = time.perf_counter_ns(); s.connect(('${address}', ${DOOR_PORT}))
    took.append(time.perf_counter_ns() - begin); s.close()
took.sort(); print(took[len(took) // 2] / 1000)`;

/** Two daemons of their own on two hosts, against VXLAN without an engine between the same hosts. */
export const overlayWorkloads: readonly Workload[] = [
  workload('overlay-throughput', `${MEGABYTES} MB over an overlay network of two hosts`, 'overlay', send),
  workload('vip-throughput', `${MEGABYTES} MB by way of a service's address`, 'vip', send),
  workload('overlay-connect', 'a connection over an overlay network of two hosts', 'overlay', connect),
  workload('vip-connect', "a connection by way of a service's address", 'vip', connect),
];

function workload(name: string, what: string, way: WayName, program: (way: Way) => string): Workload {
  let bed: OverlayBed | undefined;
  const timed = async (chosen: WayName): Promise<number> => {
    if (bed === undefined) {
      throw new Error(`${name}: nothing was prepared`);
    }
    return Number(await atClient(bed.ways[chosen], program(bed.ways[chosen])));
  };
  return {
    name,
    what: `${what}, against a bare VXLAN`,
    ...(program === send
      ? { unit: 'ms', target: SHARE, rounds: 15 }
      : { unit: 'us', target: null, maxMore: LONGER_US, rounds: 15 }),
    engine: 'berthd',
    reference: () => timed('bare'),
    prepare: async () => {
      bed = await OverlayBed.start();
      await leads(bed.ways.bare);
      await leads(bed.ways[way]);
      return {
        ids: [],
        end: async () => {
          await bed?.[Symbol.asyncDispose]();
        },
      };
    },
    run: () => timed(way),
  };
}
