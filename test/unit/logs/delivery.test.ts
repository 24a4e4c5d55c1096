import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Delivery } from '../../../daemon/logs/delivery.ts';
import { terms } from '../../../runtime/log-drivers/sink.ts';
import type { LogSink } from '../../../runtime/log-drivers/sink.ts';
import { until } from '../../support/engine/http.ts';

/** Delivery of one line of a container that has ended to a receiver that does with it as `send` says. */
function deliver(send: () => Promise<void>): { delivery: Delivery; sent: () => number } {
  const logPath = path.join(mkdtempSync(path.join(tmpdir(), 'berth-delivery-')), 'container.log');
  writeFileSync(logPath, '2026-11-22T10:00:00.000000000+00:00 stdout F line\n');
  let sent = 0;
  const sink: LogSink = {
    send: () => {
      sent += 1;
      return send();
    },
    close: () => undefined,
  };
  const deps = {
    id: 'c',
    logPath,
    terms: terms(sink),
    mode: { bufferBytesMax: null },
    advanced: () => undefined,
    log: silentLogger,
  };
  return { delivery: new Delivery(deps, false), sent: () => sent };
}

test('R76: a delivery that is stopped does not wait for a receiver that is silent', async () => {
  const { delivery, sent } = deliver(() => new Promise(() => undefined));
  await until('the line to be sent', () => sent() === 1);
  delivery.stop();
  await delivery.done;
});

test('R76: failing tells of a receiver that goes away while it is waited for', async () => {
  let refuse!: (error: Error) => void;
  const { delivery, sent } = deliver(
    () =>
      new Promise((_resolve, reject) => {
        refuse = reject;
      }),
  );
  await until('the line to be sent', () => sent() === 1);
  const failing = delivery.failing();
  refuse(new Error('connect ECONNREFUSED'));
  await failing;
  // And at once while it stays away.
  await delivery.failing();
  delivery.stop();
  await delivery.done;
});

test('delivery: what was refused is sent again, and done tells when all is there', async () => {
  let refusals = 2;
  const { delivery, sent } = deliver(() => {
    refusals -= 1;
    return refusals >= 0 ? Promise.reject(new Error('no')) : Promise.resolve();
  });
  await delivery.done;
  expect(sent()).toBe(3);
});
