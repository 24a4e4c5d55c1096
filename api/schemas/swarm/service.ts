import { integer, listOf, mapOf, ratio, secret, struct, text, texts, unsigned } from '../schema.ts';
import type { Schema } from '../schema.ts';
import { containerSpec } from './container-spec.ts';

const labels = secret(mapOf(text));

const limits = { NanoCPUs: integer, MemoryBytes: integer, Pids: integer };
const reservations = {
  NanoCPUs: integer,
  MemoryBytes: integer,
  GenericResources: listOf(
    struct({
      NamedResourceSpec: struct({ Kind: text, Value: text }),
      DiscreteResourceSpec: struct({ Kind: text, Value: integer }),
    }),
  ),
};

/** Where logs of tasks go (`LogDriverSpec`); options may hold a token. */
export const logDriver: Schema = struct({ Name: text, Options: labels });

const attachments = listOf(struct({ Target: text, Aliases: texts, DriverOpts: labels }));

/** Beside limits and reservations, since 1.52. */
const swap = { SwapBytes: integer, MemorySwappiness: integer };

const taskFields = {
  ContainerSpec: containerSpec,
  Resources: struct({ Limits: struct(limits), Reservations: struct(reservations), ...swap }),
  RestartPolicy: struct({ Condition: text, Delay: integer, MaxAttempts: unsigned, Window: integer }),
  Placement: struct({
    Constraints: texts,
    Preferences: listOf(struct({ Spread: struct({ SpreadDescriptor: text }) })),
    MaxReplicas: integer,
    Platforms: listOf(struct({ Architecture: text, OS: text })),
  }),
  Networks: attachments,
  LogDriver: logDriver,
  ForceUpdate: unsigned,
  Runtime: text,
};

const updateConfig = struct({
  Parallelism: unsigned,
  Delay: integer,
  FailureAction: text,
  Monitor: integer,
  MaxFailureRatio: ratio,
  Order: text,
});

const serviceFields = {
  Name: text,
  Labels: labels,
  TaskTemplate: struct(taskFields),
  Mode: struct({
    Replicated: struct({ Replicas: integer }),
    Global: struct({}),
    ReplicatedJob: struct({ MaxConcurrent: integer, TotalCompletions: integer }),
    GlobalJob: struct({}),
  }),
  UpdateConfig: updateConfig,
  RollbackConfig: updateConfig,
  EndpointSpec: struct({
    Mode: text,
    Ports: listOf(
      struct({
        Name: text,
        Protocol: text,
        TargetPort: integer,
        PublishedPort: integer,
        PublishMode: text,
      }),
    ),
  }),
};

/** Body of POST /services/create and /services/{id}/update at 1.55 (`ServiceSpec`). */
export const serviceSchema: Schema = struct(serviceFields);

/** `CPU` and `Memory`: what the document of 1.24 calls NanoCPUs and MemoryBytes in an update. */
const olderAmounts = { CPU: integer, Memory: integer };

/** What older versions may say beside: networks of the service, and resources under other names. */
export const serviceAccepts: Schema = struct({
  ...serviceFields,
  Networks: attachments,
  TaskTemplate: struct({
    ...taskFields,
    Resources: struct({
      Limits: struct({ ...limits, ...olderAmounts }),
      Reservations: struct({ ...reservations, ...olderAmounts }),
      Reservation: struct({ ...reservations, ...olderAmounts }),
      ...swap,
    }),
  }),
});
