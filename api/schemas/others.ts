import { consoleSize, endpoint, resources, restartPolicy } from './container-create.ts';
import { flag, listOf, mapOf, secret, struct, text, texts } from './schema.ts';
import type { Schema } from './schema.ts';

/** Body of POST /containers/{id}/exec (`ExecCreateRequest`). */
export const execCreateSchema: Schema = struct({
  AttachStdin: flag,
  AttachStdout: flag,
  AttachStderr: flag,
  ConsoleSize: consoleSize,
  DetachKeys: text,
  Tty: flag,
  Env: secret(texts),
  Cmd: secret(texts),
  Privileged: flag,
  User: text,
  WorkingDir: text,
});

/** Body of POST /containers/{id}/update (`ContainerUpdateRequest`). */
export const containerUpdateSchema: Schema = struct({
  ...resources,
  Init: flag,
  RestartPolicy: restartPolicy,
});

/** Body of POST /exec/{id}/start (`ExecStartRequest`). */
export const execStartSchema: Schema = struct({ Detach: flag, Tty: flag, ConsoleSize: consoleSize });

/** Body of POST /networks/create (`NetworkCreateRequest`). */
export const networkCreateSchema: Schema = struct({
  Name: text,
  CheckDuplicate: flag,
  Driver: text,
  Scope: text,
  EnableIPv4: flag,
  EnableIPv6: flag,
  IPAM: struct({
    Driver: text,
    Options: secret(mapOf(text)),
    Config: listOf(struct({ Subnet: text, IPRange: text, Gateway: text, AuxiliaryAddresses: mapOf(text) })),
  }),
  Internal: flag,
  Attachable: flag,
  Ingress: flag,
  ConfigOnly: flag,
  ConfigFrom: struct({ Network: text }),
  Options: secret(mapOf(text)),
  Labels: secret(mapOf(text)),
});

/** Body of POST /networks/{id}/connect (`NetworkConnectRequest`). */
export const networkConnectSchema: Schema = struct({ Container: text, EndpointConfig: endpoint });

/** Body of POST /networks/{id}/disconnect (`NetworkDisconnectRequest`). */
export const networkDisconnectSchema: Schema = struct({ Container: text, Force: flag });

/** Body of POST /volumes/create (`VolumeCreateRequest`). */
export const volumeCreateSchema: Schema = struct({
  Name: text,
  Driver: text,
  DriverOpts: secret(mapOf(text)),
  Labels: secret(mapOf(text)),
  ClusterVolumeSpec: struct({}),
});

/** Body of POST /auth (`AuthRequest`). */
export const authSchema: Schema = struct({
  username: secret(text),
  password: secret(text),
  email: secret(text),
  serveraddress: text,
  identitytoken: secret(text),
});
