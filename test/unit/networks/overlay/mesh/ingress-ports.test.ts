import { describe, expect, it } from 'vitest';
import { formatIp } from '../../../../../daemon/base/addresses/ip.ts';
import { IngressPorts } from '../../../../../daemon/networks/overlay/mesh/ingress-ports.ts';
import type { IngressChange } from '../../../../../daemon/networks/overlay/mesh/ingress-ports.ts';

const HERE = '192.0.2.1';

type Told = Partial<IngressChange>;

function told(ports: IngressPorts, change: Told): void {
  ports.apply({
    full: false,
    local: HERE,
    endpoints: [],
    removedEndpoints: [],
    services: [],
    removedServices: [],
    ...change,
  });
}

const service = (id: string, ...ports: string[]) => ({
  id,
  name: `name-${id}`,
  ports: ports.map((text) => {
    const [published, target] = text.split(':').map(Number);
    return { protocol: 'tcp' as const, published: published ?? 0, target: target ?? 0 };
  }),
});
const task = (id: string, of: string | undefined, last: number, isReady = true, nodeAddr = HERE) => ({
  id,
  nodeAddr,
  ...(of !== undefined && { service: of }),
  addresses: [`10.0.0.${last}`],
  isReady,
});

/** The first service prefers local tasks. */
const prefer = (change: Told): Told => ({
  ...change,
  ...(change.services && {
    services: change.services.map((each) => ({
      ...each,
      ports: each.ports.map((port) => (each.id === 's1' ? { ...port, preferLocal: true as const } : port)),
    })),
  }),
});

/** `8080 -> name-s1 80 10.0.0.3`, in order. */
function texts(ports: IngressPorts): string[] {
  return [...ports.all().values()]
    .map(({ published, target, service: name, backends }) =>
      [`${published} -> ${name} ${target}`, ...backends.map(formatIp)].join(' '),
    )
    .toSorted();
}

const all = (...backends: string[]) => [
  ['8080 -> name-s1 80', ...backends].join(' '),
  ['8443 -> name-s1 443', ...backends].join(' '),
];

describe('IngressPorts', () => {
  const start: Told = {
    full: true,
    services: [service('s1', '8080:80', '8443:443'), service('s2', '9000:9000')],
    endpoints: [
      task('t1', 's1', 3),
      task('t2', 's1', 4),
      task('t3', 's1', 5, false),
      task('node-1', undefined, 2),
    ],
  };
  const empty = '9000 -> name-s2 9000';

  it.each<[string, Told[], string[]]>([
    ['ready tasks; a service without any', [], [...all('10.0.0.3', '10.0.0.4'), empty]],
    [
      'a task gets ready',
      [{ endpoints: [task('t3', 's1', 5)] }],
      [...all('10.0.0.3', '10.0.0.4', '10.0.0.5'), empty],
    ],
    ['a task is drained', [{ endpoints: [task('t1', 's1', 3, false)] }], [...all('10.0.0.4'), empty]],
    [
      'a task is gone, twice',
      [{ removedEndpoints: ['t1'] }, { removedEndpoints: ['t1'] }],
      [...all('10.0.0.4'), empty],
    ],
    ['a service is gone', [{ removedServices: ['s1'] }], [empty]],
    ['other ports', [{ services: [service('s1', '81:80')] }], ['81 -> name-s1 80 10.0.0.3 10.0.0.4', empty]],
    [
      'a port goes from one service to another',
      [{ removedServices: ['s2'], services: [service('s3', '9000:1')] }],
      [...all('10.0.0.3', '10.0.0.4'), '9000 -> name-s3 1'],
    ],
    [
      'tasks before their service',
      [{ endpoints: [task('t4', 's4', 6)] }, { services: [service('s4', '70:7')] }],
      ['70 -> name-s4 7 10.0.0.6', ...all('10.0.0.3', '10.0.0.4'), empty],
    ],
    ['all anew', [{ full: true, services: [service('s2', '9000:9000')] }], [empty]],
  ])('%s', (_title, changes, expected) => {
    const ports = new IngressPorts();
    for (const change of [start, ...changes]) {
      told(ports, change);
      // Asked for in between: nothing of that may be kept too long.
      ports.all();
    }
    expect(texts(ports)).toEqual(expected.toSorted());
  });

  it.each<[string, Told[], string[]]>([
    ['those of this node', [], ['10.0.0.3']],
    ['one more gets ready', [{ endpoints: [task('t3', 's1', 5)] }], ['10.0.0.3', '10.0.0.5']],
    ['the last one is drained', [{ endpoints: [task('t1', 's1', 3, false)] }], []],
    ['all anew, from another address', [{ ...start, full: true, local: '192.0.2.2' }], ['10.0.0.4']],
  ])('local tasks of a service that prefers them: %s', (_title, changes, expected) => {
    const ports = new IngressPorts();
    const away = task('t2', 's1', 4, true, '192.0.2.2');
    for (const change of [start, { endpoints: [away] }, ...changes]) {
      told(ports, prefer(change));
      if (change.full === true) {
        told(ports, { endpoints: [away], ...(change.local !== undefined && { local: change.local }) });
      }
    }
    expect(ports.all().get('tcp/8080')?.local?.map(formatIp)).toEqual(expected);
    expect(ports.all().get('tcp/9000')?.local).toEqual([]);
  });

  it('what did not change is made once', () => {
    const ports = new IngressPorts();
    told(ports, start);
    const before = ports.all().get('tcp/8080');
    told(ports, { endpoints: [task('t9', 's2', 9)] });
    expect(ports.all().get('tcp/8080')).toBe(before);
  });
});
