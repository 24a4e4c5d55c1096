/** Randomness as a port: a planner that is given the same bytes decides the same. */
export interface Random {
  /** So many evenly distributed bytes. */
  bytes(count: number): Uint8Array;
}
