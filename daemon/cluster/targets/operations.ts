import type { TargetsPort, TargetsRequest } from '../../../api/types/cluster/targets.ts';
import { Fields } from './input/fields.ts';
import { groupArn, listenerArn, serviceArn } from './input/identifiers.ts';
import { pageOf, readPageRequest } from './input/pages.ts';
import { GROUP_TYPES } from './groups/target-group.ts';
import type { Groups } from './groups/groups.ts';
import { servicesUsing } from './groups/uses.ts';
import { targetLimits } from './limits.ts';
import type { Registrations } from './registrations/registrations.ts';
import { readTargets } from './registrations/target-rules.ts';
import { targetKey } from './registrations/target.ts';
import type { Listeners } from './services/listeners.ts';
import type { Services } from './services/services.ts';
import type { Tables } from './store/tables.ts';
import type { Tagging } from './tags/tags.ts';
import { createdGroupView, groupSummary, groupView, listenerView, serviceView } from './views.ts';

export interface OperationDeps {
  tables: Tables;
  groups: Groups;
  registrations: Registrations;
  services: Services;
  listeners: Listeners;
  tagging: Tagging;
}

/** All operations as clients ask for them. */
export function targetOperations(deps: OperationDeps): TargetsPort {
  return { ...groupOperations(deps), ...tagOperations(deps), ...serviceOperations(deps) };
}

type GroupOperation = Extract<keyof TargetsPort, `${string}Target${string}`>;

function groupOperations(deps: OperationDeps): Pick<TargetsPort, GroupOperation> {
  const { groups, registrations, tables } = deps;
  return {
    createTargetGroup: async ({ body }) => createdGroupView(await groups.create(body)),
    getTargetGroup: ({ params }) => {
      const group = groups.get(param(params, 'group'));
      return groupView(group, servicesUsing(tables, group.id));
    },
    listTargetGroups: (request) => listGroups(deps, request),
    updateTargetGroup: async ({ params, body }) =>
      createdGroupView(await groups.update(param(params, 'group'), body)),
    deleteTargetGroup: async ({ params }) => {
      const { id } = await groups.delete(param(params, 'group'));
      return { id, arn: groupArn(id), status: 'DELETE_IN_PROGRESS' };
    },
    registerTargets: ({ params, body }) => registrations.register(param(params, 'group'), body),
    deregisterTargets: ({ params, body }) => registrations.deregister(param(params, 'group'), body),
    listTargets: ({ params, query, body }) => {
      const fields = new Fields(body ?? {}, 'TargetGroup');
      const named = fields.has('targets') ? readTargets(fields, targetLimits.targetsAskedMax) : undefined;
      fields.only('targets');
      fields.refuse();
      const page = readPageRequest(query);
      return pageOf(registrations.list(param(params, 'group'), named), targetKey, page);
    },
  };
}

function listGroups({ groups, tables }: OperationDeps, { query }: TargetsRequest): object {
  const page = readPageRequest(query);
  const fields = new Fields(Object.fromEntries(query), 'TargetGroup');
  const type = fields.choice('targetGroupType', GROUP_TYPES);
  fields.refuse();
  const network = query.get('vpcIdentifier');
  const found = groups
    .all()
    .filter((group) => type === undefined || group.type === type)
    .filter(({ config }) => network === null || config.vpcIdentifier === network);
  const { items, nextToken } = pageOf(found, ({ id }) => id, page);
  return {
    items: items.map((group) => groupSummary(group, servicesUsing(tables, group.id))),
    ...(nextToken !== undefined && { nextToken }),
  };
}

function tagOperations({
  tagging,
}: OperationDeps): Pick<TargetsPort, 'listTags' | 'tagResource' | 'untagResource'> {
  return {
    listTags: ({ params }) => ({ tags: tagging.list(param(params, 'resource')) }),
    tagResource: async ({ params, body }) => {
      await tagging.add(param(params, 'resource'), body);
      return {};
    },
    untagResource: async ({ params, query }) => {
      await tagging.remove(param(params, 'resource'), query.getAll('tagKeys'));
      return {};
    },
  };
}

type ServiceOperation = Extract<
  keyof TargetsPort,
  `${string}Service${string}` | `${string}Listener${string}`
>;

function serviceOperations({ services, listeners }: OperationDeps): Pick<TargetsPort, ServiceOperation> {
  return {
    createService: async ({ body }) => serviceView(await services.create(body)),
    getService: ({ params }) => serviceView(services.get(param(params, 'service'))),
    listServices: ({ query }) => {
      const { items, nextToken } = pageOf(services.all(), ({ id }) => id, readPageRequest(query));
      return { items: items.map(serviceView), ...(nextToken !== undefined && { nextToken }) };
    },
    updateService: async ({ params, body }) =>
      serviceView(await services.update(param(params, 'service'), body)),
    deleteService: async ({ params }) => {
      const { id, name } = await services.delete(param(params, 'service'));
      return { id, arn: serviceArn(id), name, status: 'DELETE_IN_PROGRESS' };
    },
    createListener: async ({ params, body }) =>
      listenerView(await listeners.create(param(params, 'service'), body)),
    getListener: ({ params }) =>
      listenerView(listeners.get(param(params, 'service'), param(params, 'listener'))),
    listListeners: ({ params, query }) => {
      const all = listeners.of(param(params, 'service'));
      const { items, nextToken } = pageOf(all, ({ id }) => id, readPageRequest(query));
      return { items: items.map(listenerView), ...(nextToken !== undefined && { nextToken }) };
    },
    updateListener: async ({ params, body }) =>
      listenerView(await listeners.update(param(params, 'service'), param(params, 'listener'), body)),
    deleteListener: async ({ params }) => {
      const { id, service } = await listeners.delete(param(params, 'service'), param(params, 'listener'));
      return { id, arn: listenerArn(service, id) };
    },
  };
}

function param(params: TargetsRequest['params'], name: string): string {
  return params[name] ?? '';
}
