import type { Clock, Logger } from '@palyra/primitives';
import { createCalmLog } from '../calm-log.ts';
import type { RpcObserver } from './observe.ts';

/** Refusals and faults are worth a line; what went well only for whoever looks for it. */
export function logCalls(logger: Pick<Logger, 'debug' | 'warn'>, clock: Pick<Clock, 'now'>): RpcObserver {
  const calm = createCalmLog(logger, clock);
  return {
    began({ rpc, peer }) {
      const at = clock.now();
      const who = peer === undefined ? {} : { principal: peer.principal, credential: peer.device ?? peer.token };
      return (code) => {
        const fields = { rpc, ...who, code, ms: clock.now() - at };
        if (!WORTH_A_LINE.has(code)) return logger.debug(fields, 'A call of the API ended.');
        calm.warn(`${rpc} ${peer?.principal ?? ''} ${code}`, fields, 'A call of the API was refused.');
      };
    },
  };
}

/** SECURITY: T-36 — who tries what they may not leaves a trace. */
const WORTH_A_LINE: ReadonlySet<string> = new Set([
  'daemon.not_authenticated',
  'daemon.not_permitted',
  'daemon.too_many',
  'daemon.too_large',
  'daemon.fault',
]);
