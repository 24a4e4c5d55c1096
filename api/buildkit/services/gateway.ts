import { LLB_CAPABILITIES } from '../../types/build/capabilities.ts';
import type { BuildkitPort } from '../../types/build/ports.ts';
import { empty } from '../proto/common.ts';
import {
  gatewaySolveRequest,
  gatewaySolveResponse,
  pongResponse,
  returnRequest,
  warnRequest,
} from '../proto/gateway.ts';
import type { RpcMethod } from '../rpc/server.ts';
import { workerMessage } from './control.ts';
import { asBuild, ReturnedError } from './errors.ts';
import { buildOf } from './build-id.ts';
import { containerMethods } from './containers/containers.ts';
import { definitionOf, inputsOf } from './definition.ts';
import { unary } from './method.ts';
import { sourceMethods } from './sources.ts';
import { warningOf } from './updates.ts';
import { returnedResults, sentRefs } from './gateway-results.ts';
import { policyOf } from './source-policy.ts';
import { resultMethods } from './results.ts';

/** What clients may ask of a frontend, in BuildKit's words (frontend/gateway/pb/caps.go). */
const FRONTEND_CAPS = [
  'frontend.caps',
  'frontend.inputs',
  'gateway.evaluate',
  'gateway.exec',
  'gateway.exec.extrahosts',
  'gateway.exec.filesystem',
  'gateway.exec.secretenv',
  'gateway.exec.signals',
  'gateway.solve.evaluate',
  'gateway.warnings',
  'proto.refarray',
  'readdir',
  'readfile',
  'reference.output',
  'resolveimage',
  'resolveimage.resolvemode',
  'return',
  'returnmap',
  'solve.base',
  'solve.inlinereturn',
  'source.metaresolver',
  'statfile',
];
/**
 * What clients ask of the daemon besides: attestations, several outputs, also such as they name late, bounds of what
 * prune leaves, policies.
 */
const DAEMON_CAPS = [
  'exporter.image.attestations',
  'exporter.multiple',
  'exporter.session',
  'gc.freespacefilter',
  'source.policy.session',
];

/** `moby.buildkit.v1.frontend.LLBBridge`, for clients that are frontends of their own builds. */
export function gatewayMethods(port: BuildkitPort): [string, RpcMethod][] {
  const methods: [string, RpcMethod][] = [
    [
      'Ping',
      unary(empty, pongResponse, async (_request, { metadata, signal }) => {
        await port.ping(buildOf(metadata), signal);
        return {
          frontend: FRONTEND_CAPS.map((id) => ({ id, enabled: true })),
          llb: [...LLB_CAPABILITIES, ...DAEMON_CAPS].map((id) => ({ id, enabled: true })),
          workers: [workerMessage(port.worker())],
        };
      }),
    ],
    [
      'Solve',
      unary(gatewaySolveRequest, gatewaySolveResponse, async (request, { metadata, signal }) => {
        const { frontend, frontendOpt, definition, frontendInputs, allowResultReturn, evaluate } = request;
        const inputs = inputsOf(frontendInputs);
        const cacheImports = request.cacheImports.map(({ type, attrs }) => ({ type, attributes: attrs }));
        const asked = {
          frontend,
          options: frontendOpt,
          ...definitionOf(definition),
          failsWhenRead: !evaluate,
          inputs,
          cacheImports,
          policies: request.sourcePolicies.map((policy) => policyOf(policy)),
        };
        const made = await asBuild(port.solveFrontend(buildOf(metadata), asked, signal));
        if (!allowResultReturn) {
          return { oldRef: made.ref };
        }
        return { result: { ...sentRefs(made), metadata: new Map(made.metadata) } };
      }),
    ],
    [
      'Return',
      unary(returnRequest, empty, async ({ result, error }, { metadata, signal }) => {
        const isByPlatform = (result?.refs?.refs.size ?? 0) > 0;
        const outcome =
          error === undefined
            ? { results: returnedResults(result), isByPlatform }
            : { error: new ReturnedError(error) };
        await port.returnResult(buildOf(metadata), outcome, signal);
        return {};
      }),
    ],
    [
      'Warn',
      unary(warnRequest, empty, async (request, { metadata, signal }) => {
        await port.warn(buildOf(metadata), warningOf(request), signal);
        return {};
      }),
    ],
    ...resultMethods(port),
    ...sourceMethods(port),
    ...containerMethods(port),
  ];
  return methods.map(([name, method]) => [`/moby.buildkit.v1.frontend.LLBBridge/${name}`, method]);
}
