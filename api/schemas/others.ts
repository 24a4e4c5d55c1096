import { consoleSize, resources, restartPolicy } from './container-create.ts';
import { flag, mapOf, struct, text, texts } from './schema.ts';
import type { Schema } from './schema.ts';

/** Body of POST /containers/{id}/exec (`ExecCreateRequest`). */
export const execCreateSchema: Schema = struct({
  AttachStdin: flag,
  AttachStdout: flag,
  AttachStderr: flag,
  ConsoleSize: consoleSize,
  DetachKeys: text,
  Tty: flag,
  Env: texts,
  Cmd: texts,
  Privileged: flag,
  User: text,
  WorkingDir: text,
});

/** Body of POST /containers/{id}/update (`ContainerUpdateRequest`). */
export const containerUpdateSchema: Schema = struct({ ...resources, RestartPolicy: restartPolicy });

/** Body of POST /exec/{id}/start (`ExecStartRequest`). */
export const execStartSchema: Schema = struct({ Detach: flag, Tty: flag, ConsoleSize: consoleSize });

/** Body of POST /volumes/create (`VolumeCreateRequest`). */
export const volumeCreateSchema: Schema = struct({
  Name: text,
  Driver: text,
  DriverOpts: mapOf(text),
  Labels: mapOf(text),
});
