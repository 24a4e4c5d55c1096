import {
  bytes,
  field,
  long,
  mapped,
  message,
  nested,
  number,
  optional,
  repeated,
  text,
  view,
  type ValueOf,
} from '../../../daemon/base/wire/protobuf.ts';

/** Messages of the services that a client's session offers. */

/** fsutil/types: `Stat` and `Packet`. Paths and link targets may be no UTF-8. */
export const stat = message({
  path: field(1, view),
  mode: field(2, number),
  uid: field(3, number),
  gid: field(4, number),
  size: field(5, number),
  modTime: field(6, long),
  linkName: field(7, view),
  devMajor: field(8, number),
  devMinor: field(9, number),
  xattrs: mapped(10, bytes),
});
export type StatMessage = ValueOf<typeof stat>;

/** `type` of a packet; one of type STAT without a stat ends the list. */
export const PACKET = { stat: 0, request: 1, data: 2, fin: 3, error: 4 } as const;

export const packet = message({
  type: field(1, number),
  stat: optional(2, nested(stat)),
  id: field(3, number),
  data: field(4, view),
});

/** `moby.filesync.v1.Auth` */
export const credentialsRequest = message({ host: field(1, text) });
export const credentialsResponse = message({ username: field(1, text), secret: field(2, text) });

/** `moby.buildkit.secrets.v1.Secrets` */
export const secretRequest = message({ id: field(1, text) });
export const secretResponse = message({ data: field(1, bytes) });

/** An output of a build, with its options. */
export const exporter = message({ type: field(1, text), attrs: mapped(2, text) });

/** `moby.exporter.v1.Exporter` */
export const findExportersRequest = message({ metadata: mapped(1, bytes), refs: repeated(2, text) });
export const findExportersResponse = message({ exporters: repeated(1, nested(exporter)) });
export const finalizeExportRequest = message({ exporterResponse: mapped(1, text) });

/** `moby.sshforward.v1.SSH` */
export const agentRequest = message({ id: field(1, text) });

/** `grpc.health.v1.Health`; 1 is serving. */
export const SERVING = 1;
export const healthRequest = message({ service: field(1, text) });
export const healthResponse = message({ status: field(1, number) });
