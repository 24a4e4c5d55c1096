/**
 * `npm run dev`: a daemon from dist/ in a scratch root below /tmp and a network namespace of its own, its log on this
 * terminal. Ctrl-C ends it and takes everything away. Needs root.
 */
import { TestDaemon } from '../test/support/engine/daemon.ts';

const daemon = await TestDaemon.start({ terminal: true, config: { 'log-level': 'debug' } });
await daemon.loadBusybox();
console.log(`\nexport DOCKER_HOST=unix://${daemon.paths.socket}`);
console.log(`in its network namespace: nsenter --net=${daemon.netns.path} curl http://127.0.0.1:PORT/\n`);

const stop = async (): Promise<void> => {
  await daemon.stop();
  await daemon[Symbol.asyncDispose]();
  process.exit(0);
};
process.once('SIGINT', () => void stop());
process.once('SIGTERM', () => void stop());
