import type { Database } from '@palyra/storage';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import type { Caller } from '../tool-call/proposed-call.ts';
import { viewOf } from './read-runs.ts';

/** Who began runs here. */
export interface SeenAgent {
  readonly principal: string;
  readonly openRuns: number;
  readonly lastSeenAt: number;
  /** How much of it passed through here, in its newest run. */
  readonly coverage: Caller['coverage'];
}

/** Of all palyrads on this database, in order of names. */
export async function seenAgents({ read }: Pick<Database<GatewaySchema>, 'read'>): Promise<readonly SeenAgent[]> {
  const rows = await read
    .selectFrom('gateway_runs')
    .select(({ fn }) => ['principal', 'state', fn.max('started_at').as('last'), fn.countAll().as('runs')])
    .groupBy(['principal', 'state'])
    .execute();
  const seen = new Map<string, Omit<SeenAgent, 'coverage'>>();
  for (const { principal, state, last, runs } of rows) {
    const known = seen.get(principal) ?? { principal, openRuns: 0, lastSeenAt: 0 };
    seen.set(principal, {
      principal,
      openRuns: known.openRuns + (state === 'open' ? Number(runs) : 0),
      lastSeenAt: Math.max(known.lastSeenAt, last),
    });
  }
  const agents = await Promise.all([...seen.values()].map(async (agent) => ({ ...agent, ...(await newestOf(agent)) })));
  return agents.toSorted((left, right) => (left.principal < right.principal ? -1 : 1));

  async function newestOf({ principal }: Pick<SeenAgent, 'principal'>): Promise<Pick<SeenAgent, 'coverage'>> {
    const runs = read.selectFrom('gateway_runs').selectAll().where('principal', '=', principal);
    const newest = await runs.orderBy('started_at', 'desc').limit(1).executeTakeFirst();
    return { coverage: newest === undefined ? 'direct' : viewOf(newest).coverage };
  }
}
