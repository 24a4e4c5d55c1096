import type { EndpointOwner } from './endpoints.ts';
import type { SandboxRequest } from './sandbox.ts';

/** Whose endpoints a request asks for. */
export function ownerOf({ containerId, containerName, hostname }: SandboxRequest): EndpointOwner {
  return { containerId, containerName: containerName.replace(/^\//, ''), hostname };
}
