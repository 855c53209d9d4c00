import type { Database } from '@palyra/storage';
import type { GatewaySchema } from '../store/gateway-schema.ts';

/** Who began runs here. */
export interface SeenAgent {
  readonly principal: string;
  readonly openRuns: number;
  readonly lastSeenAt: number;
}

/** Of all palyrads on this database, in order of names. */
export async function seenAgents({ read }: Pick<Database<GatewaySchema>, 'read'>): Promise<readonly SeenAgent[]> {
  const rows = await read
    .selectFrom('gateway_runs')
    .select(({ fn }) => ['principal', 'state', fn.max('started_at').as('last'), fn.countAll().as('runs')])
    .groupBy(['principal', 'state'])
    .execute();
  const seen = new Map<string, SeenAgent>();
  for (const { principal, state, last, runs } of rows) {
    const known = seen.get(principal) ?? { principal, openRuns: 0, lastSeenAt: 0 };
    seen.set(principal, {
      principal,
      openRuns: known.openRuns + (state === 'open' ? Number(runs) : 0),
      lastSeenAt: Math.max(known.lastSeenAt, last),
    });
  }
  return [...seen.values()].toSorted((left, right) => (left.principal < right.principal ? -1 : 1));
}
