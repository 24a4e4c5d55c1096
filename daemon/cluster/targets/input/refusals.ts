import { EngineError } from '../../../base/errors.ts';

/** Kinds of resources as errors name them (the original's `resourceType`). */
export type NamedResource = 'TARGET_GROUP' | 'SERVICE' | 'LISTENER' | 'TARGET' | 'CERTIFICATE';

/** 404, ResourceNotFoundException. */
export function noSuch(resourceType: NamedResource, resourceId: string): EngineError {
  const text = resourceType.toLowerCase().replace('_', ' ');
  return new EngineError('not_found', `there is no ${text} ${resourceId}`, {
    details: { resourceType, resourceId },
  });
}

/** 409, ConflictException. */
export function inConflict(resourceType: NamedResource, resourceId: string, message: string): EngineError {
  return new EngineError('conflict', message, { details: { resourceType, resourceId } });
}

/** 402, ServiceQuotaExceededException. */
export function quotaExceeded(
  resourceType: NamedResource,
  resourceId: string,
  quotaCode: string,
  message: string,
): EngineError {
  return new EngineError('resource_exhausted', message, { details: { resourceType, resourceId, quotaCode } });
}
