import type { ContainerConfig } from '../../../api/types/container.ts';
import { goJson } from '../../../storage/image/go-json.ts';
import type { HistoryEntry, ImageConfig } from '../../../storage/image/image-config.ts';
import { hostPlatform } from '../../../storage/image/platform.ts';

/** What a new image adds to the one it is made from. */
export interface ChildFacts {
  /** Undefined: made from nothing. */
  parent: ImageConfig | undefined;
  /** How containers of it run. */
  config: ContainerConfig;
  /** Of the container it was made from. */
  containerConfig: ContainerConfig;
  /** Full id; `''` = no container was needed. */
  containerId: string;
  author: string;
  comment: string;
  createdBy: string;
  /** RFC 3339. */
  created: string;
  /** Of the layer it adds; undefined = none. */
  diffId: string | undefined;
  dockerVersion: string;
}

/** The configuration of an image made on this engine, as dockerd writes it: keys in order, Go's JSON. Pure. */
export function childConfig(facts: ChildFacts): Buffer {
  const { parent, author, comment, created, diffId } = facts;
  const host = hostPlatform();
  const variant = parent === undefined ? (host.variant ?? '') : parent.variant;
  const entry: HistoryEntry = {
    created,
    ...(author !== '' && { author }),
    createdBy: facts.createdBy,
    comment,
    emptyLayer: diffId === undefined,
  };
  const json = {
    architecture: parent?.architecture || host.architecture,
    ...(author !== '' && { author }),
    ...(comment !== '' && { comment }),
    config: facts.config,
    ...(facts.containerId !== '' && { container: facts.containerId }),
    container_config: facts.containerConfig,
    created,
    docker_version: facts.dockerVersion,
    history: [...(parent?.history ?? []), entry].map(historyJson),
    os: parent?.os ?? host.os,
    ...(parent?.osVersion && { 'os.version': parent.osVersion }),
    rootfs: {
      type: 'layers',
      diff_ids: [...(parent?.diffIds ?? []), ...(diffId === undefined ? [] : [diffId])],
    },
    ...(variant !== '' && { variant }),
  };
  return Buffer.from(goJson(json));
}

function historyJson({ created, createdBy, author, comment, emptyLayer }: HistoryEntry): object {
  return {
    ...(created !== undefined && { created }),
    ...(createdBy !== '' && { created_by: createdBy }),
    ...(author !== undefined && author !== '' && { author }),
    ...(comment !== '' && { comment }),
    ...(emptyLayer && { empty_layer: true }),
  };
}
