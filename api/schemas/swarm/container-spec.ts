import { healthcheck, mount, ulimits } from '../container-create.ts';
import { flag, integer, listOf, mapOf, secret, struct, text, texts, unsigned } from '../schema.ts';
import type { Schema } from '../schema.ts';

const labels = secret(mapOf(text));
/** A file of a task, which a secret or a config becomes. */
const file = struct({ Name: text, UID: text, GID: text, Mode: unsigned });

const privileges = struct({
  CredentialSpec: struct({ Config: text, File: text, Registry: text }),
  SELinuxContext: struct({ Disable: flag, User: text, Role: text, Type: text, Level: text }),
  Seccomp: struct({ Mode: text, Profile: text }),
  AppArmor: struct({ Mode: text }),
  NoNewPrivileges: flag,
});

/** What a service's tasks run (`ContainerSpec`). Words that are a choice are judged by the manager, as in dockerd. */
export const containerSpec: Schema = struct({
  Image: text,
  Labels: labels,
  Command: secret(texts),
  Args: secret(texts),
  Hostname: text,
  Env: secret(texts),
  Dir: text,
  User: text,
  Groups: texts,
  Privileges: privileges,
  Init: flag,
  StopSignal: text,
  TTY: flag,
  OpenStdin: flag,
  ReadOnly: flag,
  Mounts: listOf(mount),
  StopGracePeriod: integer,
  Healthcheck: healthcheck,
  Hosts: texts,
  DNSConfig: struct({ Nameservers: texts, Search: texts, Options: texts }),
  Secrets: listOf(struct({ File: file, SecretID: text, SecretName: text })),
  Configs: listOf(struct({ File: file, Runtime: struct({}), ConfigID: text, ConfigName: text })),
  Isolation: text,
  Sysctls: labels,
  CapabilityAdd: texts,
  CapabilityDrop: texts,
  Ulimits: ulimits,
  OomScoreAdj: integer,
});
