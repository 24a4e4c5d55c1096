/**
 * How many times longer than usual a test waits before it calls something hung: the guest of scripts/vm is emulated
 * where the processor does not virtualise, and a daemon's start takes half a minute there.
 */
export const PATIENCE = Number(process.env['BERTH_TEST_PATIENCE'] ?? 1);
