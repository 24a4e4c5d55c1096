import { change } from '../../change.ts';
import { TASK_SPEC_ROUTES, newFields, ofContainers, told } from './fields.ts';

const init = change({
  id: 'container-spec-init',
  since: 37,
  routes: TASK_SPEC_ROUTES,
  description: 'ContainerSpec has Init.',
  ...newFields(ofContainers('Init')),
});

const templating = change({
  id: 'data-templating',
  since: 37,
  routes: ['secret', 'config'].flatMap((kind) =>
    ['create', 'update', 'list', 'inspect'].map((verb) => `${kind}.${verb}`),
  ),
  description: 'Secrets and configs have Templating.',
  ...newFields({ sent: ['Templating'], answered: [] }, told('Spec.Templating')),
});

export const changes = [init, templating];
