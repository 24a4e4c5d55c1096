import { expect, test } from 'vitest';
import { checkLayers } from '../../../scripts/lib/layers.ts';
import { parseSource } from '../../../scripts/lib/sources.ts';

const check = (file: string, text: string): string[] =>
  checkLayers(parseSource(file, text)).map(({ line, message }) => `${line}: ${message}`);

test.each([
  ['runtime/a.ts', "import { x } from '../daemon/base/errors.ts';"],
  ['api/routes/a.ts', "import type { X } from '../types/container.ts';"],
  ['daemon/containers/a.ts', "import { x } from '../../storage/logs/reader.ts';"],
  ['daemon/containers/a.ts', "import type { X } from '../images/images.ts';"],
  ['daemon/containers/oci/a.ts', "import { x } from '../spec.ts';"],
  ['daemon/boot/a.ts', "import { x } from '../containers/containers.ts';"],
  ['test/unit/a.test.ts', "import { x } from '../../daemon/main.ts';"],
  ['daemon/base/kernel/a.ts', "import { declare } from './libc.ts';"],
  ['api/versions/changes/a.ts', "if (version < '1.30') { x(); }"],
  ['swarm/store/a.ts', "import { x } from '../../daemon/base/kernel/processes/process.ts';"],
  ['swarm/planner/scheduler/a.ts', "import { x } from '../../../daemon/base/clock.ts';"],
  ['swarm/planner/orchestrators/a.ts', "import { x } from '../updater/a.ts';"],
  ['swarm/control/a.ts', "import type { X } from '../../api/types/ports.ts';"],
  ['daemon/tasks/a.ts', "import type { X } from '../../swarm/agent/executor.ts';"],
  ['daemon/hub/identity/a.ts', "import { x } from '../../base/ids.ts';"],
  ['api/hub/a.ts', "import { x } from '../streams/a.ts';"],
  ['api/cluster/a.ts', "import type { X } from '../types/ports.ts';"],
  ['daemon/boot/a.ts', "import { x } from '../../swarm/agent/a.ts';"],
])('layers: %s may have %s', (file, text) => {
  expect(check(file, text)).toEqual([]);
});

test.each([
  ['runtime/a.ts', "import { x } from '../storage/b.ts';", 'runtime must not import storage/b.ts (storage)'],
  ['daemon/base/a.ts', "import type { X } from '../../api/types/a.ts';", 'it may import nothing of ours'],
  [
    'api/a.ts',
    "export { x } from '../daemon/containers/a.ts';",
    'api must not import daemon/containers/a.ts',
  ],
  ['api/a.ts', "const x = await import('../runtime/a.ts');", 'api must not import runtime/a.ts'],
  ['daemon/containers/a.ts', "import { x } from '../images/a.ts';", 'only `import type` is allowed'],
  ['daemon/stray.ts', "import { x } from './base/a.ts';", 'daemon/stray.ts is in no layer'],
  ['api/a.ts', "import koffi from 'koffi';", 'imports koffi, whose home is daemon/base/kernel'],
  [
    'runtime/a.ts',
    "import { declare } from '../daemon/base/kernel/libc.ts';",
    'declares a C function (declare)',
  ],
  [
    'swarm/agent/a.ts',
    "import { x } from '../../daemon/containers/a.ts';",
    'swarm must not import daemon/containers',
  ],
  ['swarm/ca/a.ts', "import { x } from '../../storage/a.ts';", 'swarm must not import storage/a.ts'],
  ['swarm/planner/a.ts', "import { x } from '../../daemon/base/kernel/a.ts';", 'runs in a simulation'],
  ['daemon/containers/a.ts', "import type { X } from '../../swarm/a.ts';", 'must not import swarm/a.ts'],
  ['daemon/tasks/a.ts', "import { x } from '../../swarm/agent/a.ts';", 'only `import type` is allowed'],
  ['daemon/tasks/a.ts', "import type { X } from '../containers/a.ts';", 'must not import daemon/containers'],
  ['daemon/containers/a.ts', "import type { X } from '../hub/a.ts';", 'must not import daemon/hub/a.ts'],
  ['daemon/hub/a.ts', "import type { X } from '../images/a.ts';", 'daemon/hub must not import daemon/images'],
  ['daemon/hub/a.ts', "import { x } from '../../storage/a.ts';", 'daemon/hub must not import storage/a.ts'],
  ['daemon/cluster/a.ts', "import type { X } from '../hub/a.ts';", 'must not import daemon/hub/a.ts'],
  ['api/routes/a.ts', "import { x } from '../hub/a.ts';", 'api must not import api/hub/a.ts'],
  ['api/hub/a.ts', "import { x } from '../cluster/a.ts';", 'api/hub must not import api/cluster/a.ts'],
  ['api/cluster/a.ts', "import { x } from '../../daemon/hub/a.ts';", 'must not import daemon/hub/a.ts'],
  ['api/a.ts', 'if (apiVersion >= minimum) { x(); }', 'compares API versions'],
  ['api/a.ts', "if (v === '1.30') { x(); }", 'compares API versions'],
])('layers: %s must not have %s', (file, text, message) => {
  expect(check(file, text)).toEqual([expect.stringContaining(message)]);
});
