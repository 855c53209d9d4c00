import type { AttestedApproval, ToolAttestation } from '@palyra/journal';
import { parseJson } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import type { AttestedFacts } from '../tool-call/attested-facts.ts';

/** What became of a question about a call. */
export interface SaidApproval {
  readonly id: string;
  readonly outcome: string;
  readonly decidedBy: string | null;
  readonly device: string | null;
  readonly scope: string | null;
  readonly assurance: string | null;
}

/** Null when nobody was asked, and while nobody has answered. */
export async function saidAbout(
  call: string,
  statement: ToolAttestation | null,
  deps: { readonly database: Pick<Database<GatewaySchema>, 'read'> },
): Promise<SaidApproval | null> {
  const said = statement === null ? await saidOfRunning(call, deps) : statement.approval;
  if (said === undefined) return null;
  return {
    id: said.approval_id,
    outcome: said.outcome,
    decidedBy: said.decider ?? null,
    device: said.device_id ?? null,
    scope: said.scope ?? null,
    assurance: said.assurance ?? null,
  };
}

/** While it runs nothing is attested yet; what will be is in its row. */
async function saidOfRunning(
  call: string,
  { database }: { readonly database: Pick<Database<GatewaySchema>, 'read'> },
): Promise<AttestedApproval | undefined> {
  const row = await database.read.selectFrom('gateway_calls').select('facts').where('id', '=', call).executeTakeFirst();
  return row === undefined ? undefined : (parseJson(row.facts) as unknown as AttestedFacts).approval;
}
