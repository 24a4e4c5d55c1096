import { change } from '../../change.ts';
import { newFields, told } from './fields.ts';

const secretDriver = change({
  id: 'secret-driver',
  since: 31,
  routes: ['secret.create', 'secret.update', 'secret.list', 'secret.inspect'],
  description: 'Secrets have a Driver.',
  ...newFields({ sent: ['Driver'], answered: [] }, told('Spec.Driver')),
});

export const changes = [secretDriver];
