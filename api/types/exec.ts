/** Wire shapes of exec at API 1.55. Types only. */

export interface ExecCreateRequest {
  AttachStdin?: boolean;
  AttachStdout?: boolean;
  AttachStderr?: boolean;
  ConsoleSize?: [number, number] | null;
  DetachKeys?: string;
  Tty?: boolean;
  Env?: string[] | null;
  Cmd?: string[] | null;
  Privileged?: boolean;
  User?: string;
  WorkingDir?: string;
}

export interface ExecStartRequest {
  Detach?: boolean;
  Tty?: boolean;
  ConsoleSize?: [number, number] | null;
}

export interface ExecInspect {
  ID: string;
  Running: boolean;
  ExitCode: number | null;
  ProcessConfig: {
    tty: boolean;
    entrypoint: string;
    arguments: string[];
    privileged?: boolean;
    user?: string;
  };
  OpenStdin: boolean;
  OpenStderr: boolean;
  OpenStdout: boolean;
  CanRemove: boolean;
  ContainerID: string;
  DetachKeys: string;
  Pid: number;
}
