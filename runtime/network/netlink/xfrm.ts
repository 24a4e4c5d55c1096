import { addressBytes, isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { ipv6OfBytes } from '../../../daemon/base/addresses/ipv6.ts';
import { attribute, decodeAttributes } from './attributes.ts';
import { FLAG } from './netlink.ts';
import type { NetlinkMessage, NetlinkRequest } from './netlink.ts';

/**
 * States and policies of IPsec as messages of NETLINK_XFRM (linux/xfrm.h). Pure: builders of requests and readers of
 * answers. Only what encrypted overlay networks need: ESP in transport mode with AES-GCM.
 */
const XFRM = { newState: 0x10, deleteState: 0x11, getState: 0x12, deletePolicy: 0x14, getPolicy: 0x15 };
const UPDATE_POLICY = 0x19;
const XFRMA = { template: 5, replay: 10, authenticated: 18 };
const AF = { inet: 2, inet6: 10 };
const PROTOCOL = { udp: 17, esp: 50 };
const DIRECTION_OUT = 1;
const MODE_TRANSPORT = 0;
const ALLOW = 0;

/** struct xfrm_selector, xfrm_usersa_info, xfrm_usersa_id, xfrm_userpolicy_info, xfrm_userpolicy_id, xfrm_user_tmpl */
const BYTES = { selector: 56, state: 224, stateId: 24, policy: 168, policyId: 64, template: 64 };
const STATE = { to: 56, spi: 72, protocol: 76, from: 80, lifetime: 96, request: 208, family: 212, mode: 214 };
const POLICY = { lifetime: 56, direction: 160, action: 161 };
const TEMPLATE = { protocol: 20, family: 24, request: 44, mode: 48, algorithms: 52 };
/** struct xfrm_lifetime_cfg begins with four limits of eight bytes. */
const LIFETIME_LIMITS = 4;
const FOREVER = 0xffff_ffff_ffff_ffffn;

const ALGORITHM = 'rfc4106(gcm(aes))';
const ALGORITHM_NAME_BYTES = 64;
const TAG_BITS = 128;

/** One direction between two hosts, with a key of its own. */
export interface EspState {
  from: IpAddress;
  to: IpAddress;
  /** By which the receiver finds the key. */
  spi: number;
  /** AES key and the four bytes that RFC 4106 calls its salt. */
  key: Buffer;
  /** Whose states and policies these are. */
  request: number;
}

export interface FoundState extends EspState {
  /** How many packets have been sent with it. */
  sent: number;
}

/** Which UDP packets of this host leave encrypted or not at all. */
export interface EspPolicy {
  from: IpAddress;
  /** Destination port. */
  port: number;
  /** Source ports: those that are `value` in the bits of `mask`. */
  sources: { value: number; mask: number };
  /** Packets take a state of this number, to the host that they go to. */
  request: number;
}

/** Fails with EEXIST where the receiver has another state of that number. */
export function newState(state: EspState): NetlinkRequest {
  const { from, to, spi, key, request } = state;
  const header = Buffer.alloc(BYTES.state);
  addressBytes(to).copy(header, STATE.to);
  header.writeUInt32BE(spi, STATE.spi);
  header.writeUInt8(PROTOCOL.esp, STATE.protocol);
  addressBytes(from).copy(header, STATE.from);
  writeForever(header, STATE.lifetime);
  header.writeUInt32LE(request, STATE.request);
  header.writeUInt16LE(familyOf(to), STATE.family);
  header.writeUInt8(MODE_TRANSPORT, STATE.mode);
  const algorithm = Buffer.alloc(ALGORITHM_NAME_BYTES + 8);
  algorithm.write(ALGORITHM);
  algorithm.writeUInt32LE(key.length * 8, ALGORITHM_NAME_BYTES);
  algorithm.writeUInt32LE(TAG_BITS, ALGORITHM_NAME_BYTES + 4);
  return {
    type: XFRM.newState,
    flags: FLAG.create | FLAG.exclusive,
    header,
    attributes: [attribute.bytes(XFRMA.authenticated, Buffer.concat([algorithm, key]))],
  };
}

/** Fails with ESRCH when there is none. */
export function deleteState({ to, spi }: Pick<EspState, 'to' | 'spi'>): NetlinkRequest {
  const header = Buffer.alloc(BYTES.stateId);
  addressBytes(to).copy(header);
  header.writeUInt32BE(spi, 16);
  header.writeUInt16LE(familyOf(to), 20);
  header.writeUInt8(PROTOCOL.esp, 22);
  return { type: XFRM.deleteState, flags: 0, header, attributes: [] };
}

/** A get, to be dumped: states of everybody. */
export function getStates(): NetlinkRequest {
  return { type: XFRM.getState, flags: 0, header: Buffer.alloc(0), attributes: [] };
}

/** undefined for what is no state of the form above. The key is zeros where the kernel does not tell it. */
export function readState({ payload }: NetlinkMessage): FoundState | undefined {
  const isEsp = payload.readUInt8(STATE.protocol) === PROTOCOL.esp;
  if (!isEsp || payload.readUInt8(STATE.mode) !== MODE_TRANSPORT) {
    return undefined;
  }
  const attributes = decodeAttributes(payload.subarray(BYTES.state));
  const algorithm = attributes.get(XFRMA.authenticated) ?? Buffer.alloc(0);
  const isOurs = algorithm.toString('latin1', 0, ALGORITHM.length + 1) === `${ALGORITHM}\0`;
  const family = payload.readUInt16LE(STATE.family);
  return {
    from: addressAt(payload, STATE.from, family),
    to: addressAt(payload, STATE.to, family),
    spi: payload.readUInt32BE(STATE.spi),
    key: isOurs ? Buffer.from(algorithm.subarray(ALGORITHM_NAME_BYTES + 8)) : Buffer.alloc(0),
    request: payload.readUInt32LE(STATE.request),
    sent: attributes.get(XFRMA.replay)?.readUInt32LE(0) ?? 0,
  };
}

/** Replaces one of the same selection. */
export function setPolicy(policy: EspPolicy): NetlinkRequest {
  const header = Buffer.alloc(BYTES.policy);
  selectorOf(policy).copy(header);
  writeForever(header, POLICY.lifetime);
  header.writeUInt8(DIRECTION_OUT, POLICY.direction);
  header.writeUInt8(ALLOW, POLICY.action);
  return {
    type: UPDATE_POLICY,
    flags: 0,
    header,
    attributes: [attribute.bytes(XFRMA.template, templateOf(policy))],
  };
}

/** By what the kernel told of it. Fails with ENOENT when there is none. */
export function deletePolicy({ payload }: NetlinkMessage): NetlinkRequest {
  const header = Buffer.alloc(BYTES.policyId);
  payload.copy(header, 0, 0, BYTES.selector);
  header.writeUInt8(payload.readUInt8(POLICY.direction), BYTES.selector + 4);
  return { type: XFRM.deletePolicy, flags: 0, header, attributes: [] };
}

/** A get, to be dumped: policies of everybody. */
export function getPolicies(): NetlinkRequest {
  return { type: XFRM.getPolicy, flags: 0, header: Buffer.alloc(0), attributes: [] };
}

/** The request number of a policy, as the kernel tells it; undefined where it names no state. */
export function requestOfPolicy({ payload }: NetlinkMessage): number | undefined {
  const template = decodeAttributes(payload.subarray(BYTES.policy)).get(XFRMA.template);
  return template !== undefined && template.length >= BYTES.template
    ? template.readUInt32LE(TEMPLATE.request)
    : undefined;
}

/** Whether a policy, as the kernel tells it, is for the same packets. */
export function hasSelectorOf({ payload }: NetlinkMessage, policy: EspPolicy): boolean {
  return payload.subarray(0, BYTES.selector).equals(selectorOf(policy));
}

/** Whether a policy, as the kernel tells it, has this one's form. */
export function isPolicy(message: NetlinkMessage, policy: EspPolicy): boolean {
  const { payload } = message;
  const template = decodeAttributes(payload.subarray(BYTES.policy)).get(XFRMA.template);
  const head = TEMPLATE.algorithms;
  return (
    hasSelectorOf(message, policy) &&
    payload.readUInt8(POLICY.direction) === DIRECTION_OUT &&
    payload.readUInt8(POLICY.action) === ALLOW &&
    template?.length === BYTES.template &&
    template.subarray(0, head).equals(templateOf(policy).subarray(0, head))
  );
}

/** From this host to any, by UDP and ports. */
function selectorOf({ from, port, sources }: EspPolicy): Buffer {
  const selector = Buffer.alloc(BYTES.selector);
  addressBytes(from).copy(selector, 16);
  selector.writeUInt16BE(port, 32);
  selector.writeUInt16BE(0xffff, 34);
  selector.writeUInt16BE(sources.value, 36);
  selector.writeUInt16BE(sources.mask, 38);
  selector.writeUInt16LE(familyOf(from), 40);
  selector.writeUInt8(isIpv4(from) ? 32 : 128, 43);
  selector.writeUInt8(PROTOCOL.udp, 44);
  return selector;
}

/** In transport mode its addresses are those of the packet. */
function templateOf({ from, request }: EspPolicy): Buffer {
  const template = Buffer.alloc(BYTES.template);
  template.writeUInt8(PROTOCOL.esp, TEMPLATE.protocol);
  template.writeUInt16LE(familyOf(from), TEMPLATE.family);
  template.writeUInt32LE(request, TEMPLATE.request);
  template.writeUInt8(MODE_TRANSPORT, TEMPLATE.mode);
  template.fill(0xff, TEMPLATE.algorithms);
  return template;
}

function writeForever(header: Buffer, at: number): void {
  for (let limit = 0; limit < LIFETIME_LIMITS; limit += 1) {
    header.writeBigUInt64LE(FOREVER, at + limit * 8);
  }
}

function familyOf(address: IpAddress): number {
  return isIpv4(address) ? AF.inet : AF.inet6;
}

function addressAt(payload: Buffer, at: number, family: number): IpAddress {
  return family === AF.inet ? payload.readUInt32BE(at) : ipv6OfBytes(payload.subarray(at, at + 16));
}
