/**
 * How many times longer than usual a test waits before it calls something hung: the guest of scripts/vm is emulated
 * where the processor does not virtualise, and a daemon's start takes half a minute there.
 */
export const PATIENCE = Number(process.env['BERTH_TEST_PATIENCE'] ?? 1);

/**
 * How long a test waits for what must come to be, in milliseconds. It costs nothing when all is well, and says
 * "never" rather than "not just now": a busy machine stalls a process for seconds.
 */
export const WAIT_MS = 30_000 * PATIENCE;
