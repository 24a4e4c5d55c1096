import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hostFiles } from '../../../../daemon/networks/files/host-files.ts';
import {
  hostsFile,
  hostsFileOfHost,
  parseExtraHosts,
  resolveHostGateway,
} from '../../../../daemon/networks/files/hosts.ts';
import {
  askedResolver,
  containerResolver,
  formatResolvConf,
  hostResolver,
  parseResolvConf,
} from '../../../../daemon/networks/files/resolv.ts';

const nothing = { nameservers: [], search: [], options: [] };

describe('hostsFile()', () => {
  it('lists local names, extra hosts and the container, as dockerd does', () => {
    const extraHosts = resolveHostGateway(
      parseExtraHosts(['db:10.0.0.5', 'up=host-gateway', 'six:[fd00::1]', 'seven:fd00::7']),
      () => '172.17.0.1',
    );
    expect(hostsFile({ addresses: ['172.17.0.2'], hostname: 'web', domainname: 'example.org', extraHosts }))
      .toMatchInlineSnapshot(`
        "127.0.0.1	localhost
        ::1	localhost ip6-localhost ip6-loopback
        fe00::0	ip6-localnet
        ff00::0	ip6-mcastprefix
        ff02::1	ip6-allnodes
        ff02::2	ip6-allrouters
        10.0.0.5	db
        172.17.0.1	up
        fd00::1	six
        fd00::7	seven
        172.17.0.2	web.example.org web
        "
      `);
  });

  it('is the file of the host and the extra hosts in the network of the host', () => {
    const extraHosts = parseExtraHosts(['db:10.0.0.5']);
    expect(hostsFileOfHost('127.0.0.1 localhost', extraHosts)).toBe('127.0.0.1 localhost\n10.0.0.5\tdb\n');
  });
});

describe('parseExtraHosts()', () => {
  it.each([
    ['db', 'bad format for add-host: "db"'],
    [':10.0.0.1', 'bad format for add-host: ":10.0.0.1"'],
    ['a b:10.0.0.1', 'bad format for add-host: "a b:10.0.0.1"'],
    ['db:10.0.0', 'invalid IP address in add-host: "10.0.0"'],
    ['db:10.0.0.1\n1.1.1.1 evil', 'invalid IP address in add-host: "10.0.0.1\n1.1.1.1 evil"'],
  ])('refuses "%s"', (value, message) => {
    expect(() => parseExtraHosts([value])).toThrow(message);
  });
});

describe('hostFiles()', () => {
  it('follows resolv.conf: written over, replaced, a link, gone, and what systemd-resolved writes', () => {
    const root = mkdtempSync(path.join(tmpdir(), 'host-files-'));
    const file = path.join(root, 'etc/resolv.conf');
    const resolved = path.join(root, 'run/systemd/resolve/resolv.conf');
    mkdirSync(path.dirname(file), { recursive: true });
    mkdirSync(path.dirname(resolved), { recursive: true });
    const files = hostFiles(root);
    const seen = (): string[][] => [[...files.nameServers()], files.resolver().nameservers];
    try {
      expect(seen()).toEqual([[], []]);
      writeFileSync(file, 'nameserver 10.0.0.1\n');
      expect(seen()).toEqual([['10.0.0.1'], ['10.0.0.1']]);
      writeFileSync(file, 'nameserver 10.0.0.22\n');
      expect(seen()).toEqual([['10.0.0.22'], ['10.0.0.22']]);
      // Of the same length, as DHCP clients do it.
      writeFileSync(`${file}.new`, 'nameserver 10.0.0.33\n');
      renameSync(`${file}.new`, file);
      expect(seen()).toEqual([['10.0.0.33'], ['10.0.0.33']]);
      writeFileSync(resolved, 'nameserver 192.0.2.1\n');
      rmSync(file);
      symlinkSync(resolved, file);
      expect(seen()).toEqual([['192.0.2.1'], ['192.0.2.1']]);
      rmSync(file);
      writeFileSync(file, 'nameserver 127.0.0.53\n');
      // The host asks its own; containers cannot.
      expect(seen()).toEqual([['127.0.0.53'], ['192.0.2.1']]);
      rmSync(file);
      expect(seen()).toEqual([[], []]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe('the resolver of a container', () => {
  const host = parseResolvConf(
    '# made by hand\ndomain old.example\nsearch a.example b.example\n' +
      'nameserver 127.0.0.53\nnameserver 10.0.0.1 # lan\n' +
      'nameserver ::1\nnameserver fe80::1\noptions ndots:2 rotate\n',
  );

  it.each([
    [
      'drops servers out of reach',
      host,
      nothing,
      'search a.example b.example\nnameserver 10.0.0.1\noptions ndots:2 rotate\n',
    ],
    [
      'falls back to public servers',
      parseResolvConf('nameserver 127.0.0.1\n'),
      nothing,
      'nameserver 8.8.8.8\nnameserver 8.8.4.4\n',
    ],
    [
      'replaces part by part what was asked for',
      host,
      { nameservers: ['1.1.1.1', '::1'], search: ['.'], options: ['use-vc'] },
      'nameserver 1.1.1.1\nnameserver ::1\noptions use-vc\n',
    ],
  ])('%s', (_what, settings, asked, expected) => {
    const resolver = containerResolver(settings, askedResolver(asked, nothing), { ipv6: false });
    expect(formatResolvConf(resolver)).toBe(expected);
  });

  it('has servers with IPv6 addresses where it has such an address itself', () => {
    const { nameservers } = parseResolvConf(
      ['127.0.0.1', '::1', 'fe80::1', 'fe80::1%eth0', 'febf::1', '2001:db8::53', '10.0.0.1']
        .map((server) => `nameserver ${server}\n`)
        .join(''),
    );
    const both = containerResolver({ ...nothing, nameservers }, nothing, { ipv6: true });
    expect(both.nameservers).toEqual(['2001:db8::53', '10.0.0.1']);
  });

  it('keeps the servers of the host in the network of the host', () => {
    expect(hostResolver(host, nothing).nameservers).toEqual(['127.0.0.53', '10.0.0.1', '::1', 'fe80::1']);
  });

  it('takes the defaults of the daemon where the container asks for nothing', () => {
    const defaults = { nameservers: ['9.9.9.9'], search: ['d.example'], options: [] };
    expect(askedResolver({ ...nothing, search: ['c.example'] }, defaults)).toEqual({
      nameservers: ['9.9.9.9'],
      search: ['c.example'],
      options: [],
    });
  });

  it.each([
    [
      { ...nothing, nameservers: ['dns.example'] },
      'bad parameter: invalid DNS server "dns.example": not an IP address',
    ],
    [{ ...nothing, search: ['a b'] }, 'bad parameter: DnsSearch "a b": expected one word'],
    [{ ...nothing, options: ['x\nnameserver 6.6.6.6'] }, 'bad parameter: DnsOptions'],
  ])('refuses %o', (asked, message) => {
    expect(() => askedResolver(asked, nothing)).toThrow(message);
  });
});
