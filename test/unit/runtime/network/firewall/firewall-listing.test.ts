import { expect, test } from 'vitest';
import { readListing } from '../../../../../runtime/network/firewall/listing.ts';
import { expectedElements } from '../../../../../runtime/network/firewall/ruleset.ts';

/** As nft 1.0.6 prints it. */
const LISTING = `table ip berth {
	map published_any {
		type inet_proto . inet_service : ipv4_addr . inet_service
		elements = { tcp . 1000 : 10.0.0.2 . 80,
			     sctp . 1001 : 10.0.0.2 . 80 }
	}

	set bridges {
		type ifname
		elements = { "b0",
			     "b6" }
	}

	set subnets {
		type ipv4_addr
		flags interval
		elements = { 10.0.0.0/24, 10.0.1.0/24 }
	}

	set internal {
		type ifname
		elements = { "b6" }
	}

	set enclosed {
		type ifname . ifname
		elements = { "b6" . "b6" }
	}

	set masqueraded {
		type ipv4_addr
		flags interval
		elements = { 10.0.0.0/24 }
	}

	set closed {
		type ipv4_addr
		flags interval
		elements = { 10.0.0.0/24, 10.0.1.0/24 }
	}

	set homes {
		type ifname . ipv4_addr
		flags interval
		elements = { "b0" . 10.0.0.0/24,
			     "b6" . 10.0.1.0/24 }
	}

	set together {
		type ifname . ifname
		elements = { "b0" . "b0" }
	}

	chain user {
		ip saddr { 10.9.0.0/16, 10.8.0.0/16 } drop
	}

	chain publish {
		dnat ip to meta l4proto . th dport map @published_any
	}
}
`;

const bridge = (name: string, address: number, more: object) => ({
  name,
  addresses: [{ address, prefixLength: 24 }],
  mtu: 1500,
  internal: false,
  icc: true,
  masquerade: true,
  ...more,
});
const bridges = [bridge('b0', 0x0a000001, {}), bridge('b6', 0x0a000101, { internal: true, icc: false })];
const ports = (
  [
    ['tcp', 1000],
    ['sctp', 1001],
  ] as const
).map(([protocol, hostPort]) => ({
  protocol,
  hostPort,
  hostAddress: 0,
  address: 0x0a000002,
  containerPort: 80,
}));

test('a listing has exactly the elements that belong there', () => {
  const expected = expectedElements('ip', { bridges, ports }).filter(({ members }) => members.length > 0);
  const { elements } = readListing(LISTING);
  expect(elements).toEqual(new Map(expected.map(({ set, members }) => [set, new Set(members)])));
});

test('its rules are the same whatever elements come and go, and whatever the administrator writes', () => {
  const { rules } = readListing(LISTING);
  const without = LISTING.replace(/\n\t\telements = \{ tcp.*?\}/s, '').replace(/\n\t\tip saddr.*/, '');
  expect(readListing(without).rules).toBe(rules);
  expect(rules).toContain('dnat ip to meta l4proto');
  expect(rules).not.toContain('10.');
  expect(readListing(LISTING.replace('dnat', 'drop')).rules).not.toBe(rules);
});
