/** Imported before the engine, which reads BERTH_FAILPOINTS once. Each step of `open` fails in one attempt. */
export const OPEN_STEPS = ['port', 'netns', 'veth', 'address', 'firewall', 'files'].map(
  (step) => `network.open.${step}`,
);

process.env['BERTH_FAILPOINTS'] = OPEN_STEPS.map(
  (step, index) => `${step}=error(armed)@${index === 0 ? 1 : 2}`,
).join(';');
