import type { Migration } from '../migrate.ts';

/** Annotations of images and of their lists, and images alone that have some: their document is no index. */
export const annotations: Migration = {
  number: 16,
  name: 'annotations',
  sql: `
    ALTER TABLE manifest_lists ADD COLUMN is_alone INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE manifest_lists ADD COLUMN annotations TEXT;
    ALTER TABLE manifest_list_images ADD COLUMN annotations TEXT;
  `,
};
