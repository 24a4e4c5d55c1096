import type { ClusterCommand } from './command.ts';
import { eventsCommand } from './events-command.ts';
import { targetCommands } from './targets/target-commands.ts';

/** Every command of `berthd cluster`, by its one word. */
export const CLUSTER_COMMANDS: ReadonlyMap<string, ClusterCommand> = new Map<string, ClusterCommand>([
  ['events', eventsCommand],
  ...targetCommands,
]);
