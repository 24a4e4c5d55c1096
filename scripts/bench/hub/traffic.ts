/**
 * A process beside a hub: it receives deliveries and counts them, and puts tags so that there are some. Told what to do
 * by messages of bed.ts.
 */
import http from 'node:http';
import net from 'node:net';
import { RECEIVER_PORT, type Order, type Report } from './orders.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const report: Report = { received: 0, put: 0 };
const state = { isStopped: false, putting: Promise.resolve() };

net
  .createServer((socket) => receive(socket))
  .listen(RECEIVER_PORT, '127.0.0.1', () => process.send?.(report));

process.on('message', (order: Order) => {
  switch (order.kind) {
    case 'put':
      state.isStopped = false;
      // Where it fails this process ends, and who asks it next is told so.
      state.putting = putTags(order);
      return;
    case 'stop':
      state.isStopped = true;
      void state.putting.then(() => process.send?.(report));
      return;
    case 'count':
      process.send?.(report);
  }
});
process.on('disconnect', () => process.exit(0));

/** As little as takes a request: what it costs the machine is missing to the hub. */
function receive(socket: net.Socket): void {
  let head = '';
  let left = 0;
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    for (let at = 0; at < chunk.length;) {
      if (left > 0) {
        const taken = Math.min(left, chunk.length - at);
        [left, at] = [left - taken, at + taken];
      } else {
        const before = head.length;
        head += chunk.toString('latin1', at);
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) {
          return;
        }
        at += end + 4 - before;
        left = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        head = '';
      }
      if (left === 0) {
        report.received += 1;
        socket.write(ANSWER);
      }
    }
  });
}

async function putTags({
  tags,
  everyMs,
  url,
  authorization,
  manifest,
}: Extract<Order, { kind: 'put' }>): Promise<void> {
  const started = performance.now();
  for (let count = 0; count < tags && !state.isStopped; count += 1) {
    // One that was late is made up for.
    const next = started + (count + 1) * everyMs;
    const status = await put(`${url}/manifests/t${report.put}-${process.pid}`, authorization, manifest);
    if (status !== 201) {
      throw new Error(`a tag was not put: ${status}`);
    }
    report.put += 1;
    const restMs = next - performance.now();
    if (restMs > 0) {
      await new Promise((resolve) => {
        setTimeout(resolve, restMs);
      });
    }
  }
}

function put(url: string, authorization: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: authorization,
      'Content-Type': 'application/vnd.oci.image.manifest.v1+json',
      'Content-Length': Buffer.byteLength(body),
    };
    const req = http.request(url, { method: 'PUT', agent, headers }, (res) => {
      res.resume();
      res.once('end', () => resolve(res.statusCode ?? 0));
    });
    req.once('error', reject);
    req.end(body);
  });
}
