/** Imported before the engine, which reads BERTH_FAILPOINTS once. */
export const ARMED = 'swarm.store.compact=error(armed)@1;swarm.store.defragment=error(armed)@1';

process.env['BERTH_FAILPOINTS'] = ARMED;
