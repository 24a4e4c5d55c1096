import { existsSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from '../sources.ts';
import { guestTest, guestTests, type StepContext } from './guest-tests.ts';

const ENGINE = 'BERTH_TEST_ENGINE=service';
/** A swarm of their own each; the last one waits for its file. */
const OTHERS = ['br-netfilter', 'encrypted'].filter((name) =>
  existsSync(path.join(repositoryRoot, guestTest(name))),
);

/** The guest becomes a swarm of one, which outlives two boots; then what needs a swarm of its own. */
export async function swarmStep(context: StepContext): Promise<void> {
  const { machine, protocol } = context;
  await guestTests(context, ENGINE, ['vm'], [guestTest('swarm')]);
  for (const [what, boot] of [
    ['systemctl reboot', () => machine.reboot()],
    ['power cut', () => machine.cutPower().then(() => machine.boot())],
  ] as const) {
    const started = performance.now();
    await boot();
    protocol.note(`${what}: booted again after ${((performance.now() - started) / 1000).toFixed(0)} s`);
    await guestTests(context, '', ['vm'], [guestTest('swarm-after-boot')]);
  }
  await guestTests(context, ENGINE, ['vm'], OTHERS.map(guestTest));
}
