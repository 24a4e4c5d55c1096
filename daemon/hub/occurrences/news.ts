import type { Repository } from '../repositories/repository.ts';

/** What the hub has to tell people besides what happens to repositories. */
export type HubNews =
  /** `occurrence`: the id of what it was to tell of; undefined = a ping, or the like. */
  | {
      kind: 'delivery-failed';
      hook: number;
      repository: Repository | undefined;
      event: string;
      guid: string;
      /** What came of it: `timed out`. */
      status: string;
      occurrence: string | undefined;
    }
  | { kind: 'hook-switched-off'; hook: number; repository: Repository | undefined; failures: number }
  /** `caller`: by what its requests are counted, `user/3`. `limit`: which of its limits is exceeded. */
  | { kind: 'limited'; caller: string; limit: string }
  /** Too many wrong credentials of a name, `user alice`, `address 10.0.0.7`. */
  | { kind: 'locked-out'; name: string };
