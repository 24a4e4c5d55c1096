import { change } from '../../change.ts';

const updateAnswers = change({
  id: 'service-update-answers',
  since: 25,
  routes: ['service.update'],
  description: 'POST /services/{id}/update answers Warnings (nothing before).',
  quirk: 'service-update-answers',
});

export const changes = [updateAnswers];
