import { change } from '../../change.ts';
import { TASK_SPEC_ROUTES, newFields, ofContainers, told } from './fields.ts';

const mounts = change({
  id: 'container-spec-create-mountpoint',
  since: 42,
  routes: TASK_SPEC_ROUTES,
  description: 'Bind mounts of a ContainerSpec have CreateMountpoint. Tasks tell Volumes.',
  ...newFields(ofContainers('Mounts.BindOptions.CreateMountpoint'), told('Volumes')),
});

export const changes = [mounts];
