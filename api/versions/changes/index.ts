import type { VersionChange } from '../change.ts';
import { changes as swarm25 } from './swarm/v1_25.ts';
import { changes as swarm28 } from './swarm/v1_28.ts';
import { changes as swarm29 } from './swarm/v1_29.ts';
import { changes as swarm30 } from './swarm/v1_30.ts';
import { changes as swarm31 } from './swarm/v1_31.ts';
import { changes as swarm32 } from './swarm/v1_32.ts';
import { changes as swarm35 } from './swarm/v1_35.ts';
import { changes as swarm37 } from './swarm/v1_37.ts';
import { changes as swarm39 } from './swarm/v1_39.ts';
import { changes as swarm40 } from './swarm/v1_40.ts';
import { changes as swarm41 } from './swarm/v1_41.ts';
import { changes as swarm42 } from './swarm/v1_42.ts';
import { changes as swarm44 } from './swarm/v1_44.ts';
import { changes as swarm46 } from './swarm/v1_46.ts';
import { changes as swarm52 } from './swarm/v1_52.ts';
import { changes as v25 } from './v1_25.ts';
import { changes as v27 } from './v1_27.ts';
import { changes as v28 } from './v1_28.ts';
import { changes as v29 } from './v1_29.ts';
import { changes as v30 } from './v1_30.ts';
import { changes as v31 } from './v1_31.ts';
import { changes as v32 } from './v1_32.ts';
import { changes as v34 } from './v1_34.ts';
import { changes as v35 } from './v1_35.ts';
import { changes as v36 } from './v1_36.ts';
import { changes as v39 } from './v1_39.ts';
import { changes as v40 } from './v1_40.ts';
import { changes as v41 } from './v1_41.ts';
import { changes as v42 } from './v1_42.ts';
import { changes as v43 } from './v1_43.ts';
import { changes as v44 } from './v1_44.ts';
import { changes as v45 } from './v1_45.ts';
import { changes as v46 } from './v1_46.ts';
import { changes as v47 } from './v1_47.ts';
import { changes as v48 } from './v1_48.ts';
import { changes as v49 } from './v1_49.ts';
import { changes as v50 } from './v1_50.ts';
import { changes as v51 } from './v1_51.ts';
import { changes as v52 } from './v1_52.ts';
import { changes as v53 } from './v1_53.ts';
import { changes as v54 } from './v1_54.ts';
import { changes as v55 } from './v1_55.ts';

/**
 * Every difference between the versions served, oldest first. Versions that are not here changed nothing of what is
 * served so far.
 */
export const CHANGES: readonly VersionChange[] = [
  ...v25,
  ...swarm25,
  ...v27,
  ...v28,
  ...swarm28,
  ...v29,
  ...swarm29,
  ...v30,
  ...swarm30,
  ...v31,
  ...swarm31,
  ...v32,
  ...swarm32,
  ...v34,
  ...v35,
  ...swarm35,
  ...v36,
  ...swarm37,
  ...v39,
  ...swarm39,
  ...v40,
  ...swarm40,
  ...v41,
  ...swarm41,
  ...v42,
  ...swarm42,
  ...v43,
  ...v44,
  ...swarm44,
  ...v45,
  ...v46,
  ...swarm46,
  ...v47,
  ...v48,
  ...v49,
  ...v50,
  ...v51,
  ...v52,
  ...swarm52,
  ...v53,
  ...v54,
  ...v55,
];
