/**
 * `sudo ./scripts/vm [--suite SUITE] [--only STEP,...] [--package FILE] [--cuts N] [--keep] [--record]`: see HELP.
 * Exits with 0 when nothing failed.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { SUITES } from './lib/debootstrap.ts';
import { repositoryFiles, repositoryRoot } from './lib/sources.ts';
import { baseImage, repositoryDisk } from './lib/vm/image.ts';
import { Machine } from './lib/vm/machine.ts';
import { Protocol } from './lib/vm/protocol.ts';
import { STEPS } from './lib/vm/steps.ts';

const HELP = `sudo ./scripts/vm: tests Berth in a virtual Debian (systemd, cgroup v2)

  --suite SUITE    bookworm (Debian 12, the default) or trixie (13)
  --only STEP,...  steps to run, of ${STEPS.map(({ name }) => name).join(', ')}; boot and install always run
  --package FILE   package for the step \`package\`, instead of one that scripts/package builds now
  --cuts N         power cuts (default 3)
  --keep           leave the machine running at the end, and print how to log in
  --record         write the result into test/vm.md
`;

const CACHE = process.env['BERTH_VM_CACHE'] ?? '/var/cache/berth-vm';
const SCRATCH = '/var/tmp';
const MEMORY_MB = 3072;
const CPUS = 2;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      suite: { type: 'string', default: 'bookworm' },
      only: { type: 'string' },
      package: { type: 'string' },
      cuts: { type: 'string', default: '3' },
      keep: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const chosen = values.only?.split(',') ?? STEPS.map(({ name }) => name);
  const unknown = chosen.filter((name) => STEPS.every((step) => step.name !== name));
  if (values.help || unknown.length > 0) {
    console.log(unknown.length > 0 ? `no step ${unknown.join(', ')}\n\n${HELP}` : HELP);
    return values.help ? 0 : 2;
  }
  const suite = SUITES.find((name) => name === values.suite);
  if (suite === undefined) {
    console.log(`no suite ${values.suite}\n\n${HELP}`);
    return 2;
  }
  const protocol = new Protocol();
  const folder = mkdtempSync(path.join(SCRATCH, 'berth-vm-'));
  const image = baseImage(CACHE, suite, (line) => protocol.note(line));
  const disk = path.join(folder, 'repository.raw');
  const debianPackage = chosen.includes('package') ? (values.package ?? buildPackage(folder)) : undefined;
  repositoryDisk(disk, repositoryRoot, repositoryFiles(), debianPackage);
  const machine = new Machine({ image, repositoryDisk: disk, folder, memoryMb: MEMORY_MB, cpus: CPUS });
  let isKept = false;
  try {
    for (const step of STEPS.filter(({ name, always }) => always === true || chosen.includes(name))) {
      await protocol.step(step.title, () => step.run({ machine, protocol, cuts: Number(values.cuts) }));
      if (protocol.isBroken) {
        break;
      }
    }
    if (values.keep && machine.isOn()) {
      isKept = true;
      console.log(
        `\nthe machine runs on as process ${machine.pid}; log in with\n  ${machine.loginCommand}\n`,
      );
    }
  } finally {
    saveConsole(machine);
    await (isKept ? machine.leave() : machine.dispose());
  }
  if (values.record) {
    const file = path.join(repositoryRoot, 'test/vm.md');
    writeFileSync(file, protocol.page(suite, machine.accelerator, file));
  }
  console.log(`${protocol.passed} passed, ${protocol.failed} failed, 0 skipped`);
  return protocol.failed === 0 ? 0 : 1;
}

/** Built here and now, into the folder; answers the file. */
function buildPackage(folder: string): string {
  execFileSync(path.join(repositoryRoot, 'scripts/package'), [folder], { stdio: 'inherit' });
  const name = readdirSync(folder).find((file) => file.endsWith('.deb'));
  if (name === undefined) {
    throw new Error(`scripts/package left no package in ${folder}`);
  }
  return path.join(folder, name);
}

/** The guest's console of the last run, for what no test says. */
function saveConsole(machine: Machine): void {
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(path.join(CACHE, 'console.log'), machine.consoleText());
}

process.exitCode = await main();
