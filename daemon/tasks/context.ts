import type { ContainerChanges } from './container-changes.ts';
import type { MemoryFiles } from './memory-files.ts';
import type { TaskDeps } from './ports.ts';
import type { TaskImages } from './pulls.ts';

/**
 * What the steps of tasks share. Of the tasks themselves nothing is kept: their containers are found by their labels,
 * so the next daemon knows as much.
 */
export interface TaskContext extends TaskDeps {
  pulls: TaskImages;
  files: MemoryFiles;
  changes: ContainerChanges;
}
