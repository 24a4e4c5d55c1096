import type { SwarmInitRequest } from '../../../api/types/swarm/swarm.ts';
import { parseCidr } from '../../../daemon/base/addresses/ipv4.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { ClusterRecord } from '../../objects/cluster.ts';
import { completeSwarmSpec } from './spec.ts';

const POOLS = ['10.0.0.0/8'];
const SUBNET_SIZE = 24;
const SUBNET_SIZE_MAX = 29;
const DATA_PATH_PORT = 4789;
const DATA_PATH_PORT_MIN = 1024;
const DATA_PATH_PORT_MAX = 49_151;

/** The swarm that an init asks for. Throws invalid_argument in dockerd's words. Pure. */
export function newClusterRecord(request: SwarmInitRequest, id: string, now: number): ClusterRecord {
  const { Spec: spec = {} } = request;
  const isLocked = request.AutoLockManagers === true || spec.EncryptionConfig?.AutoLockManagers === true;
  const subnetSize = request.SubnetSize || SUBNET_SIZE;
  const addressPools = request.DefaultAddrPool ?? [];
  checkPools(addressPools, subnetSize);
  return {
    id,
    created: now,
    updated: now,
    spec: completeSwarmSpec({ ...spec, EncryptionConfig: { AutoLockManagers: isLocked } }),
    addressPools: addressPools.length > 0 ? addressPools : POOLS,
    subnetSize,
    dataPathPort: checkedDataPathPort(request.DataPathPort || DATA_PATH_PORT),
  };
}

function checkPools(pools: readonly string[], subnetSize: number): void {
  if (subnetSize > SUBNET_SIZE_MAX || subnetSize < 1) {
    throw invalidArgument(`subnet size is out of range: ${subnetSize}`);
  }
  for (const pool of pools) {
    const subnet = parseCidr(pool)?.subnet;
    if (subnet === undefined) {
      throw invalidArgument(`invalid base pool ${pool}: invalid CIDR address: ${pool}`);
    }
    if (subnetSize < subnet.prefixLength) {
      throw invalidArgument(
        `invalid CIDR: ${JSON.stringify(pool)}. Subnet size is too small for pool: ${subnetSize}`,
      );
    }
  }
}

function checkedDataPathPort(port: number): number {
  if (port < DATA_PATH_PORT_MIN || port > DATA_PATH_PORT_MAX) {
    throw invalidArgument(
      `Datapath port number is not in valid range (${DATA_PATH_PORT_MIN} - ${DATA_PATH_PORT_MAX}) : ${port}`,
    );
  }
  return port;
}
