/** Version of the engine, as package.json has it; a unit test keeps the two equal. */
export const ENGINE_VERSION = '0.1.0';
