import type { StringMap } from '../../../api/types/maps.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';

/** Keys of dockerd's overlay driver. */
export const VNI_OPTION = 'com.docker.network.driver.overlay.vxlanid_list';
const MTU_OPTION = 'com.docker.network.driver.mtu';

/** 24 bits. Those below are nobody's to choose by itself: the ingress network has the first. */
export const VNI = { min: 1, ingress: 4096, user: 4097, max: (1 << 24) - 1 } as const;

/** IPv4 needs packets of this size; IPv6 of 1280. The largest one leaves place for what VXLAN adds. */
const MTU = { min: 68, min6: 1280, max: 65_485 } as const;

/**
 * The VNI that the user chose, if any. Throws invalid_argument naming key and value. `encrypted` is in force with any
 * value; keys that nobody knows are kept and shown, as by dockerd. Pure.
 */
export function checkOverlayOptions(
  options: Readonly<StringMap>,
  { ipv6 }: { ipv6: boolean },
): { vni: number | undefined } {
  const mtu = options[MTU_OPTION];
  const least = ipv6 ? MTU.min6 : MTU.min;
  // 0 = what the path between nodes leaves.
  if (mtu !== undefined && mtu !== '0' && !isWhole(mtu, least, MTU.max)) {
    throw invalidArgument(
      `invalid network option "${MTU_OPTION}": ${JSON.stringify(mtu)}: expected a number from ${least} to ${MTU.max}`,
    );
  }
  return { vni: vniOf(options[VNI_OPTION]) };
}

function vniOf(text: string | undefined): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  if (text.includes(',')) {
    throw invalidArgument(
      `invalid network option "${VNI_OPTION}": ${JSON.stringify(text)}: a network has one VXLAN id`,
    );
  }
  if (!isWhole(text, VNI.min, VNI.max)) {
    throw invalidArgument(`invalid vxlan id value ${JSON.stringify(text)} passed`);
  }
  return Number(text);
}

function isWhole(text: string, min: number, max: number): boolean {
  return /^\d{1,8}$/.test(text) && Number(text) >= min && Number(text) <= max;
}
