import { conflict, invalidArgument } from '../../base/errors.ts';
import { updateNetworkNames } from './connect.ts';
import type { ContainerContext } from '../context.ts';
import { checkName } from '../state/names.ts';

/** Gives a container another name. Throws invalid_argument or conflict with dockerd's texts. */
export async function renameContainer(
  context: ContainerContext,
  ref: string,
  newName: string,
): Promise<void> {
  if (ref === '' || newName === '') {
    throw invalidArgument('Neither old nor new names may be empty');
  }
  const { registry, machine, mutex } = context;
  const container = registry.find(ref);
  const name = checkName(newName);
  await mutex.run(container.id, () => {
    if (registry.get(container.id) !== container || container.state.status === 'removing') {
      throw conflict(`Container ${container.id} is already being removed and cannot be renamed`);
    }
    if (name === container.name) {
      throw invalidArgument('Renaming a container with the same name as its current name');
    }
    registry.reserveName(name, container.id);
    try {
      machine.rename(container, name);
    } catch (error) {
      registry.releaseName(name, container.id);
      throw error;
    }
    updateNetworkNames(context, container);
  });
}
