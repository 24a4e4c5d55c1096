/** `2026-11-23T18:00:00Z`: UTC, to the second, as all times of the hub. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

export function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : timeText(ms);
}
