import { answer, ANSWER_VERSION, type Answer } from './answer.ts';
import { table } from './table.ts';

const RESULTS = ['result.json', 'result.txt'];

/** What may be asked instead of a build. */
const SUBREQUESTS = {
  'frontend.outline': 'List all parameters current build target supports',
  'frontend.targets': 'List all targets current build supports',
  'frontend.lint': 'Lint a Dockerfile',
  'frontend.subrequests.describe': 'List available subrequest types',
} as const;

export const REQUESTS: ReadonlySet<string> = new Set(Object.keys(SUBREQUESTS));

/** `--call=subrequests.describe`. Pure. */
export function describeAnswer(): Answer {
  const requests = Object.entries(SUBREQUESTS).map(([name, description]) => ({
    name,
    version: ANSWER_VERSION,
    type: 'rpc',
    description,
    opts: name === 'frontend.outline' ? [{ name: 'target', description: 'Target build stage' }] : [],
    inputs: null,
    metadata: [...RESULTS, ...(name === 'frontend.lint' ? ['result.statuscode'] : [])].map((metadata) => ({
      name: metadata,
      description: '',
    })),
    refs: null,
  }));
  const rows = requests.map((item) => [item.name.replace(/^frontend\./, ''), item.version, item.description]);
  return answer(requests, table([['NAME', 'VERSION', 'DESCRIPTION'], ...rows], 1));
}
