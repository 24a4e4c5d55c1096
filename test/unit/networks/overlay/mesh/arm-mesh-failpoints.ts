/** Imported before the engine, which reads BERTH_FAILPOINTS once: each fails at its first passing. */
/** Which they are. */
export const MESH_STEPS = ['network.mesh.hold', 'network.mesh.set'];

process.env['BERTH_FAILPOINTS'] = MESH_STEPS.map((step) => `${step}=error(armed)@1`).join(';');
