/** What `logs` shows before a line with `details`: `key=value,...`, encoded as dockerd does it. Pure. */
export function detailsText(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${queryEscape(key)}=${queryEscape(value)}`)
    .join(',');
}

/** As Go's url.QueryEscape. */
function queryEscape(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1).replaceAll('*', '%2A');
}
