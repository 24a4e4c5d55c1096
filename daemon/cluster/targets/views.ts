import { groupArn, listenerArn, serviceArn } from './input/identifiers.ts';
import { certificateArn } from './certificates/certificate.ts';
import type { TargetGroup } from './groups/target-group.ts';
import type { Listener, Service } from './services/service.ts';

/** Answer of CreateTargetGroup: a group of functions has no configuration in it (seed 002, 2B). */
export function createdGroupView(group: TargetGroup) {
  const { id, name, type, status, config } = group;
  return { arn: groupArn(id), id, name, type, status, ...(type !== 'LAMBDA' && { config }) };
}

/** Answer of GetTargetGroup. */
export function groupView(group: TargetGroup, serviceIds: readonly string[]) {
  const { id, name, type, status, config, failure, createdMs, updatedMs } = group;
  return {
    arn: groupArn(id),
    id,
    name,
    type,
    status,
    config,
    createdAt: new Date(createdMs).toISOString(),
    lastUpdatedAt: new Date(updatedMs).toISOString(),
    serviceArns: serviceIds.map(serviceArn),
    ...(failure && { failureCode: failure.code, failureMessage: failure.message }),
  };
}

/** An item of ListTargetGroups. */
export function groupSummary(group: TargetGroup, serviceIds: readonly string[]) {
  const { id, name, type, status, createdMs, updatedMs } = group;
  const { port, protocol, ipAddressType, vpcIdentifier, lambdaEventStructureVersion } = group.config;
  return {
    arn: groupArn(id),
    id,
    name,
    type,
    status,
    ...(port !== undefined && { port }),
    ...(protocol && { protocol }),
    ...(ipAddressType && { ipAddressType }),
    ...(vpcIdentifier !== undefined && { vpcIdentifier }),
    ...(lambdaEventStructureVersion && { lambdaEventStructureVersion }),
    createdAt: new Date(createdMs).toISOString(),
    lastUpdatedAt: new Date(updatedMs).toISOString(),
    serviceArns: serviceIds.map(serviceArn),
  };
}

export function serviceView({ id, name, certificate, createdMs, updatedMs }: Service) {
  return {
    arn: serviceArn(id),
    id,
    name,
    authType: 'NONE',
    ...(certificate !== undefined && { certificateArn: certificateArn(certificate) }),
    status: 'ACTIVE',
    createdAt: new Date(createdMs).toISOString(),
    lastUpdatedAt: new Date(updatedMs).toISOString(),
  };
}

export function listenerView(listener: Listener) {
  const { id, service, name, protocol, port, defaultAction, createdMs, updatedMs } = listener;
  return {
    arn: listenerArn(service, id),
    id,
    name,
    protocol,
    port,
    defaultAction,
    serviceArn: serviceArn(service),
    serviceId: service,
    createdAt: new Date(createdMs).toISOString(),
    lastUpdatedAt: new Date(updatedMs).toISOString(),
  };
}
