import type { DeviceRequest, HostConfig } from '../../../api/types/host-config.ts';
import { invalidArgument } from '../../base/errors.ts';
import { abridged } from './refuse.ts';

/** `vendor.com/class=name` (Container Device Interface). */
const QUALIFIED = /^[A-Za-z][A-Za-z0-9_.-]*\/[A-Za-z][A-Za-z0-9_-]*=[A-Za-z0-9][A-Za-z0-9_.:-]*$/;
/** Kinds of devices that `--gpus` means, where a file describes them; the first that there is counts. */
const GPU_KINDS = ['nvidia.com/gpu', 'amd.com/gpu'];
/** More than a machine holds. */
const GPUS_MAX = 1024;
/** What programs of containers may ask of a GPU; the files of vendors bring all of it. */
const GPU_CAPABILITIES = new Set([
  'gpu',
  'nvidia',
  'amd',
  'compute',
  'utility',
  'graphics',
  'video',
  'display',
]);

/**
 * Names of the described devices that a container asks for: `--device vendor.com/class=name` by its name, `--gpus` by
 * a count (-1: all) or by ids of a vendor's GPUs. `known` answers the names of all that are described on this host.
 * Throws invalid_argument, with dockerd's text where no driver is there. Pure but for `known`.
 */
export function requestedDevices(
  { DeviceRequests }: Pick<HostConfig, 'DeviceRequests'>,
  known: () => readonly string[],
): string[] {
  return (DeviceRequests ?? []).flatMap((request) => {
    if (Object.keys(request.Options ?? {}).length > 0) {
      throw invalidArgument('DeviceRequests: Options: no device here takes options');
    }
    return request.Driver === 'cdi' ? byName(request) : gpus(request, known());
  });
}

function byName({ DeviceIDs, Count = 0, Capabilities }: DeviceRequest): string[] {
  const wrong = (DeviceIDs ?? []).find((name) => !QUALIFIED.test(name));
  if (wrong !== undefined) {
    throw invalidArgument(
      `DeviceRequests: DeviceIDs: ${JSON.stringify(abridged(wrong))} is not vendor.com/class=name`,
    );
  }
  if (Count !== 0) {
    throw invalidArgument(
      `DeviceRequests: Count: devices of driver "cdi" are asked for by DeviceIDs: ${Count}`,
    );
  }
  if ((Capabilities ?? []).length > 0) {
    throw invalidArgument('DeviceRequests: Capabilities: devices of driver "cdi" are asked for by DeviceIDs');
  }
  return [...(DeviceIDs ?? [])];
}

function gpus(request: DeviceRequest, known: readonly string[]): string[] {
  const { Driver = '', Count = 0, DeviceIDs, Capabilities } = request;
  const kind = GPU_KINDS.find(
    (each) =>
      (Driver === '' || each.startsWith(`${Driver}.`)) && known.some((name) => name.startsWith(`${each}=`)),
  );
  const isOfGpu = (Capabilities ?? []).some(
    (all) => all.includes('gpu') && all.every((one) => GPU_CAPABILITIES.has(one)),
  );
  if (kind === undefined || !isOfGpu) {
    const capabilities = (Capabilities ?? []).map((list) => `[${list.join(' ')}]`).join(' ');
    throw invalidArgument(
      `DeviceRequests: could not select device driver ${JSON.stringify(Driver)} with capabilities: [${capabilities}]`,
    );
  }
  const ids = DeviceIDs ?? [];
  if (ids.length > 0 && Count !== 0) {
    throw invalidArgument(`DeviceRequests: cannot set both Count and DeviceIDs: ${Count}`);
  }
  if (Count < -1 || Count > GPUS_MAX) {
    throw invalidArgument(`DeviceRequests: Count: ${Count} is neither a number of devices nor -1 for all`);
  }
  if (ids.length > 0) {
    return ids.map((id) => `${kind}=${id}`);
  }
  return Count === -1 ? [`${kind}=all`] : Array.from({ length: Count }, (_, at) => `${kind}=${at}`);
}
