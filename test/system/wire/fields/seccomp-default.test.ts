import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { describeEngine, onReference } from '../../../support/engine/engine.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'berth-seccomp-'));
const profile = path.join(folder, 'profile.json');
writeFileSync(
  profile,
  JSON.stringify({
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }],
  }),
);
const MKDIR = ['sh', '-c', 'mkdir /x 2>/dev/null && echo made || echo refused'];

describeEngine(
  'seccomp-profile of the daemon',
  (engine) => {
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test.each([
      ['counts for containers that ask for nothing', {}, 'refused\n'],
      ['gives way to what a container asks for', { SecurityOpt: ['seccomp=unconfined'] }, 'made\n'],
      ['gives way to Privileged', { Privileged: true }, 'made\n'],
    ])('seccomp-profile: %s', async (_what, host, expected) => {
      // Debian's dockerd has no CAP_SYS_RESOURCE here, which its privileged containers ask for.
      const isPossible = !onReference || !('Privileged' in host);
      expect(isPossible ? (await engine.run(MKDIR, host)).stdout : expected).toBe(expected);
    });
  },
  { config: { 'seccomp-profile': profile } },
);
