#!/usr/bin/env node
import { main } from './boot/cli.ts';

const exitCode = await main(process.argv.slice(2));
if (exitCode !== undefined) {
  process.exit(exitCode);
}
