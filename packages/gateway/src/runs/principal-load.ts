import { GatewayError } from '../gateway-error.ts';

/** What one principal has open in this process, over all its runs and connections. */
export interface PrincipalLoad {
  /** Until it is called back. Throws `gateway.too_many_runs`, `gateway.too_many_calls`. */
  take(what: Load, principal: string): () => void;
}

type Load = 'run' | 'call';

/** More than a thousand agents at once under one name, and few enough that everybody else is still served. */
const MOST_AT_ONCE = 2_048;

/** SECURITY: T-39 — each of them holds memory and a place in the queue of commits; what one has too many of, others wait for. */
export function createPrincipalLoad(most: number = MOST_AT_ONCE): PrincipalLoad {
  const loads = { run: new Map<string, number>(), call: new Map<string, number>() };
  return {
    take(what, principal) {
      const load = loads[what];
      const count = load.get(principal) ?? 0;
      if (count >= most) throw tooMany(what, most);
      load.set(principal, count + 1);
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        const left = (load.get(principal) ?? 1) - 1;
        if (left === 0) load.delete(principal);
        else load.set(principal, left);
      };
    },
  };
}

function tooMany(what: Load, most: number): GatewayError {
  return new GatewayError(
    `gateway.too_many_${what}s`,
    `The principal has ${most} ${what === 'run' ? 'runs open' : 'calls under way'}, and no more are taken.`,
    { fix: what === 'run' ? 'End runs that are done, or go on with one of them.' : 'Wait until some have ended.' },
  );
}
