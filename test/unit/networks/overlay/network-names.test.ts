import { describe, expect, it } from 'vitest';
import { formatIp, parseIp } from '../../../../daemon/base/addresses/ip.ts';
import { NetworkNames } from '../../../../daemon/networks/overlay/network-names.ts';
import type {
  NamedEndpoint,
  NamedService,
  NamesChange,
} from '../../../../daemon/networks/overlay/network-names.ts';

function endpoint(id: string, last: number, more: Partial<NamedEndpoint> = {}): NamedEndpoint {
  const names = [`c-${id}`, id];
  return { id, addresses: [`10.0.1.${last}`], names, isReady: true, nodeAddr: '192.0.2.2', ...more };
}

function service(id: string, name: string, more: Partial<NamedService> = {}): NamedService {
  return { id, name, vips: [], aliases: [], ...more };
}

function change(more: Partial<NamesChange>): NamesChange {
  return { full: false, endpoints: [], removedEndpoints: [], services: [], removedServices: [], ...more };
}

/** `often 10.0.1.3 10.0.1.4`: what a name leads to. */
function asked(names: NetworkNames, name: string): string {
  const found = names.find(name);
  const addresses = found?.addresses.map(formatIp).toSorted() ?? [];
  return found === undefined ? 'unknown' : [found.changesOften ? 'often' : 'seldom', ...addresses].join(' ');
}

function holder(names: NetworkNames, address: string): string | undefined {
  return names.nameAt(parseIp(address) ?? expect.fail(address));
}

/** Two services of one alias, one with a virtual address; an attached container; a task that is not ready. */
function filled(): NetworkNames {
  const names = new NetworkNames();
  names.apply(
    change({
      full: true,
      services: [
        service('s1', 'Web', { vips: ['10.0.1.2', 'fd00::2'], aliases: ['front'] }),
        service('s2', 'db', { aliases: ['front', 'store'] }),
        service('s3', 'empty'),
      ],
      endpoints: [
        endpoint('t1', 3, { service: 's1', addresses: ['10.0.1.3', 'fd00::3'] }),
        endpoint('t2', 4, { service: 's1', isReady: false }),
        endpoint('t3', 5, { service: 's2' }),
        endpoint('t4', 6, { service: 's2', names: ['db.2.t4', 'shortid4', 'Host4'] }),
        endpoint('a1', 7, { names: ['shell', 'tasks.web'] }),
      ],
    }),
  );
  return names;
}

describe('find()', () => {
  it.each([
    ['web', 'seldom 10.0.1.2 fd00::2', 'a service leads to its virtual addresses, whatever the case'],
    ['db', 'often 10.0.1.5 10.0.1.6', 'one of mode dnsrr to its tasks'],
    ['store', 'often 10.0.1.5 10.0.1.6', 'an alias like the name'],
    ['front', 'often 10.0.1.2 10.0.1.5 10.0.1.6 fd00::2', 'a name of two services to both'],
    ['tasks.web', 'often 10.0.1.3 10.0.1.7 fd00::3', 'the ready tasks, and who else has that very name'],
    ['tasks.store', 'often 10.0.1.5 10.0.1.6', 'tasks by an alias'],
    ['empty', 'often', 'a service without ready tasks is known'],
    ['tasks.empty', 'often', 'and its tasks are'],
    ['c-t2', 'seldom 10.0.1.4', 'a task that is not ready has its own name'],
    ['host4', 'seldom 10.0.1.6', 'a host name, whatever the case'],
    ['shortid4', 'seldom 10.0.1.6', 'a short id'],
    ['shell', 'seldom 10.0.1.7', 'a container that was attached'],
    ['tasks.shell', 'unknown', 'which is no service'],
    ['other', 'unknown', 'nothing else'],
    ['', 'unknown', 'nor the root'],
  ])('%j: %j: %s', (name, answer) => {
    expect(asked(filled(), name)).toBe(answer);
  });
});

describe('nameAt()', () => {
  it.each([
    ['10.0.1.2', 'Web'],
    ['fd00::2', 'Web'],
    ['10.0.1.3', 'c-t1'],
    ['fd00::3', 'c-t1'],
    ['10.0.1.6', 'db.2.t4'],
    ['10.0.1.99', undefined],
  ])('%s: %s', (address, name) => {
    expect(holder(filled(), address)).toBe(name);
  });
});

describe('apply()', () => {
  it('a task that becomes ready, stops being so, or moves', () => {
    const names = filled();
    const steps: [NamedEndpoint, string][] = [
      [endpoint('t2', 4, { service: 's1' }), 'often 10.0.1.3 10.0.1.4 10.0.1.7 fd00::3'],
      [endpoint('t1', 3, { service: 's1', isReady: false }), 'often 10.0.1.4 10.0.1.7'],
      [endpoint('t2', 44, { service: 's1' }), 'often 10.0.1.44 10.0.1.7'],
    ];
    for (const [one, answer] of steps) {
      names.apply(change({ endpoints: [one] }));
      expect(asked(names, 'tasks.web')).toBe(answer);
    }
    expect(holder(names, '10.0.1.4')).toBeUndefined();
  });

  it('names, aliases and addresses that a service has no more', () => {
    const names = filled();
    names.apply(change({ services: [service('s1', 'Web', { vips: ['10.0.1.9'], aliases: ['new'] })] }));
    expect(['web', 'new', 'front'].map((name) => asked(names, name))).toEqual([
      'seldom 10.0.1.9',
      'seldom 10.0.1.9',
      'often 10.0.1.5 10.0.1.6',
    ]);
    expect(holder(names, '10.0.1.2')).toBeUndefined();
  });

  it('what is removed; twice, and what was never there', () => {
    const names = filled();
    const removal = change({ removedEndpoints: ['t3', 't9'], removedServices: ['s1', 's9'] });
    names.apply(removal);
    names.apply(removal);
    expect(['web', 'tasks.web', 'front', 'c-t3', 'c-t1'].map((name) => asked(names, name))).toEqual([
      'unknown',
      'seldom 10.0.1.7',
      'often 10.0.1.6',
      'unknown',
      'seldom 10.0.1.3 fd00::3',
    ]);
  });

  it('tasks that are told before their service', () => {
    const names = new NetworkNames();
    names.apply(change({ endpoints: [endpoint('t1', 3, { service: 's1' })] }));
    names.apply(change({ services: [service('s1', 'web')] }));
    expect(asked(names, 'web')).toBe('often 10.0.1.3');
  });

  it('a full one forgets what it does not name', () => {
    const names = filled();
    names.apply(change({ full: true, services: [service('s2', 'db')], endpoints: [endpoint('t5', 8)] }));
    expect(['web', 'db', 'store', 'shell', 'c-t5'].map((name) => asked(names, name))).toEqual([
      'unknown',
      'often',
      'unknown',
      'unknown',
      'seldom 10.0.1.8',
    ]);
  });

  it('an address that goes from one to the next keeps its name, in whichever order that is told', () => {
    const names = filled();
    names.apply(change({ endpoints: [endpoint('t6', 5)] }));
    names.apply(change({ removedEndpoints: ['t3'] }));
    expect(holder(names, '10.0.1.5')).toBe('c-t6');
  });

  it('nothing is left of what has come and gone', () => {
    const names = filled();
    names.apply(change({ full: true }));
    expect(['web', 'db', 'front', 'shell', 'tasks.web'].map((name) => asked(names, name))).toEqual(
      Array.from({ length: 5 }, () => 'unknown'),
    );
    expect(['10.0.1.2', '10.0.1.3'].map((address) => holder(names, address))).toEqual([undefined, undefined]);
  });
});
