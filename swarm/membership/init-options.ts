import type { NodeSpec } from '../../api/types/swarm/node.ts';
import type { SwarmInitRequest } from '../../api/types/swarm/swarm.ts';
import { parseIpv4, parseCidr } from '../../daemon/base/addresses/ipv4.ts';
import { invalidArgument } from '../../daemon/base/errors.ts';

const DEFAULT_POOLS = ['10.0.0.0/8'];
const DEFAULT_SUBNET_SIZE = 24;
const SUBNET_SIZE_MAX = 29;
const DEFAULT_DATA_PATH_PORT = 4789;
const PORT = { min: 1024, max: 49_151 };

export interface InitOptions {
  addressPools: string[];
  subnetSize: number;
  dataPathPort: number;
}

/** What a swarm is given once for ever. Throws invalid_argument in dockerd's words. */
export function initOptions(request: SwarmInitRequest): InitOptions {
  const { DefaultAddrPool, SubnetSize, DataPathPort } = request;
  const subnetSize = SubnetSize || DEFAULT_SUBNET_SIZE;
  if (subnetSize > SUBNET_SIZE_MAX) {
    throw invalidArgument(`subnet size is out of range: ${subnetSize}`);
  }
  const addressPools = DefaultAddrPool?.length ? DefaultAddrPool : DEFAULT_POOLS;
  for (const pool of addressPools) {
    const [address = '', length] = pool.split('/');
    if (parseCidr(pool) === undefined || parseIpv4(address) === undefined) {
      throw invalidArgument(`invalid base pool ${pool}: invalid CIDR address: ${pool}`);
    }
    if (subnetSize < Number(length)) {
      throw invalidArgument(`invalid CIDR: "${pool}". Subnet size is too small for pool: ${subnetSize}`);
    }
  }
  const dataPathPort = DataPathPort || DEFAULT_DATA_PATH_PORT;
  if (dataPathPort < PORT.min || dataPathPort > PORT.max) {
    throw invalidArgument(`Datapath port number is not in valid range (1024-49151) : ${dataPathPort}`);
  }
  return { addressPools, subnetSize, dataPathPort };
}

/** Throws invalid_argument. */
export function availabilityOf(text: string | undefined): NodeSpec['Availability'] {
  const value = text || 'active';
  if (value !== 'active' && value !== 'pause' && value !== 'drain') {
    throw invalidArgument(`invalid Availability: "${value}"`);
  }
  return value;
}
