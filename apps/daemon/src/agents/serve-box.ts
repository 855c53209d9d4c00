import type { Config } from '@palyra/config';
import type { Caller } from '@palyra/gateway';
import type { ActivePolicies } from '@palyra/policy';
import type { Clock, Logger } from '@palyra/primitives';
import { createAuthorizer } from '../interceptors/authorize.ts';
import { type PrincipalLimits, paceMessages } from '../interceptors/limit.ts';
import { logCalls } from '../interceptors/log.ts';
import { mapErrors } from '../interceptors/map-errors.ts';
import { observe } from '../interceptors/observe.ts';
import { createRequestGate } from '../interceptors/request-gate.ts';
import { validate } from '../interceptors/validate.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { registerBoxServices, type ServicesDeps } from '../services/register-services.ts';
import type { Telemetry } from '../telemetry/open-telemetry.ts';
import type { BoxParts } from './open-wrapped-session.ts';
import { type OpenDoor, openDoor } from './serve-door.ts';

export interface ServeBoxDeps {
  readonly services: ServicesDeps;
  readonly config: Config;
  readonly place: Pick<Caller, 'coverage' | 'separation'>;
  readonly lifecycle: Lifecycle;
  readonly limits: PrincipalLimits;
  readonly policies: Pick<ActivePolicies, 'decide'>;
  readonly telemetry: Telemetry;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** What every listener has in front of the services, in front of those for one agent in its box. */
export function serveBox(parts: BoxParts, deps: ServeBoxDeps): OpenDoor {
  const { config, lifecycle, limits, policies, logger, clock, services } = deps;
  const placeOf = () => ({ ...deps.place, coverage: 'wrapped', isBoxed: true }) as const;
  const authorizer = createAuthorizer({ policies, clock, placeOf });
  const observers = [logCalls(logger, clock), ...deps.telemetry.rpcs];
  const { stopping, stopped } = lifecycle;
  const { gateway, hubs, agentSessions, workspace } = parts;
  const workspaceFor = async () => workspace;
  const own = { ...services, gateway, hubs, agentSessions, authorizer, placeOf, workspaceFor };
  return openDoor({
    sessions: agentSessions,
    gate: createRequestGate({ authenticate: parts.authenticate, authorizer, limits, stopping, logger, observers }),
    interceptors: [observe(observers), mapErrors(logger), paceMessages(limits), validate],
    register: (router) => registerBoxServices(router, own),
    limits: config.limits,
    logger,
    clock,
    stopping,
    stopped,
  });
}
