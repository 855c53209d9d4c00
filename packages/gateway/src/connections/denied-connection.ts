import type { EgressDenial, Target } from '@palyra/egress';
import type { RefusedCall } from '../tool-call/call-end.ts';
import { hostAndPort } from './named-network.ts';

/** A refusal by policy or a human, in the one shape of every denied connection. */
export function denialOf(refused: RefusedCall, target: Target, redact: (text: string) => string): EgressDenial {
  const { code, message, fix, decision } = refused;
  const rule = `host:${hostAndPort(target)}`;
  const [missing = 'new-host'] = decision?.policyIds ?? [];
  return {
    code,
    host: target.host,
    port: target.port,
    missing,
    rule,
    message: redact(message),
    fix: redact(fix ?? `Ask the operator: palyra allow ${rule}, or name it with --net ${hostAndPort(target)}.`),
  };
}
