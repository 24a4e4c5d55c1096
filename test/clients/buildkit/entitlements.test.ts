import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { must, runClient, type Said } from '../../support/buildkit/run-client.ts';
import { describeEngine, type Engine } from '../../support/engine/engine.ts';
import { hasTrixie, inTrixie } from '../../support/trixie.ts';

const CDI = `/tmp/berth-test-cdi-builds-${process.pid}`;
/** What a command has by default, whatever the daemon has. */
const SANDBOX = '00000000a80425fb';
const ALL = 0x1ff_ffff_ffffn;

const builder =
  (engine: Engine, name: string) =>
  (lines: readonly string[], ...args: string[]): Promise<Said> => {
    const folder = `${engine.daemon.paths.root}/${name}`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/Dockerfile`, lines.join('\n'));
    const command = ['docker', 'buildx', 'build', '--progress=plain', '--no-cache', ...args, folder];
    return runClient(engine.daemon, inTrixie(...command));
  };

/** The node of /dev/zero under another name, and a variable. */
function device(name: string, annotations: Record<string, string> = {}): object {
  const deviceNodes = [{ path: `/dev/of-${name}`, hostPath: '/dev/zero' }];
  return { name, annotations, containerEdits: { deviceNodes, env: [`OF=${name}`] } };
}

/** Of the test's own process, which starts the daemon. */
function ownBoundingSet(): string {
  return /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
}

describeEngine(
  'builds that may have more than others',
  (engine) => {
    const build = builder(engine, 'more');

    describe.runIf(hasTrixie())('docker buildx', () => {
      test('RUN --security=insecure: all that the daemon has, and a warning of what it has not', async () => {
        const set = ownBoundingSet();
        const { err } = await must(
          build(
            [
              'FROM busybox',
              `RUN --security=insecure grep -q "^CapBnd:.${set}$" /proc/self/status`,
              'RUN --security=insecure grep -q "^Seccomp:.0$" /proc/self/status && [ -c /dev/loop-control ]',
              'RUN --security=insecure mkdir /m && mount -t tmpfs none /m && mount | grep -q " /sys .*[(]rw,"',
              `RUN grep -q "^CapBnd:.${SANDBOX}$" /proc/self/status && [ ! -e /dev/loop-control ]`,
              `RUN --security=sandbox grep -q "^CapBnd:.${SANDBOX}$" /proc/self/status`,
            ],
            '--allow=security.insecure',
          ),
        );
        const lacks = BigInt(`0x${set}`) !== ALL;
        expect(err.includes('[Warning] Not available in the environment of the daemon')).toBe(lacks);
      });

      test('RUN --security=insecure without --allow is refused', async () => {
        const { code, err } = await build(['FROM busybox', 'RUN --security=insecure true']);
        expect(code).toBe(1);
        expect(err).toContain(
          'RUN --security=insecure is not allowed: the build lacks the entitlement security.insecure',
        );
      });

      test('RUN --device: one that is free for all builds; not there, or not allowed, is told', async () => {
        mkdirSync(CDI, { recursive: true });
        const free = { 'org.mobyproject.buildkit.device.autoallow': 'true' };
        const devices = [device('free', free), device('own')];
        const spec = { cdiVersion: '0.6.0', kind: 'vendor.com/class', devices };
        writeFileSync(`${CDI}/spec.json`, JSON.stringify(spec));
        const { err } = await must(
          build([
            'FROM busybox',
            'RUN --device=vendor.com/class=free,required [ -c /dev/of-free ] && [ $OF = free ] && [ ! -e /dev/of-own ]',
            'RUN --device=vendor.com/class [ -c /dev/of-free ]',
            'RUN --device=vendor.com/class=none [ ! -e /dev/of-free ]',
          ]),
        );
        expect(err).toContain('[Warning] no device vendor.com/class=none is described on this host');
        const failing = async (flag: string): Promise<string> =>
          (await build(['FROM busybox', `RUN --device=${flag} true`])).err;
        expect(await failing('vendor.com/class=*')).toContain(
          'RUN --device=vendor.com/class=* is not allowed: the build lacks the entitlement device=vendor.com/class=own',
        );
        expect(await failing('none.com/class=a,required')).toContain(
          'required device none.com/class=a is not described on this host',
        );
        rmSync(CDI, { recursive: true });
      });

      test.runIf(!existsSync('/sys/fs/cgroup/cgroup.controllers'))(
        '--cgroup-parent: where BuildKit has its commands',
        async () => {
          const parent = `${engine.daemon.cgroupParent}/of-builds`;
          const { err } = await must(
            build(['FROM busybox', 'RUN grep :memory: /proc/self/cgroup'], `--cgroup-parent=${parent}`),
          );
          expect(err).toMatch(new RegExp(`:memory:${parent}/buildkit/[0-9a-f]{64}`));
        },
      );
    });
  },
  { config: { builder: { entitlements: { 'security-insecure': true } }, 'cdi-spec-dirs': [CDI] } },
);

describeEngine('builds of a daemon that was told nothing', (engine) => {
  const build = builder(engine, 'less');

  test.runIf(hasTrixie())('security.insecure is not allowed, the network of the host is', async () => {
    const { code, err } = await build(
      ['FROM busybox', 'RUN --security=insecure true'],
      '--allow=security.insecure',
    );
    expect(code).toBe(1);
    expect(err).toContain('entitlement security.insecure is not allowed (builder.entitlements)');
    await must(build(['FROM busybox', 'RUN --network=host true'], '--allow=network.host'));
  });
});
