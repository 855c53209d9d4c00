import { type Gateway, GatewayError, type KnownRun } from '@palyra/gateway';
import type { RunId } from '@palyra/primitives';
import type { AuthenticatedPeer } from '../interceptors/peer-context.ts';

export interface AskedRun {
  readonly peer: AuthenticatedPeer;
  /** Whether this peer may do it to runs of others. */
  mayOthers(): boolean;
}

/**
 * SECURITY: T-41 — a run is found by its credential, and by whom policy lets see those of others; for everybody else it is
 * not there, and the error is the same as for one that never was.
 */
export async function knownRun(
  gateway: Pick<Gateway, 'run'>,
  id: RunId,
  { peer, mayOthers }: AskedRun,
): Promise<KnownRun> {
  const run = await gateway.run(id).catch(unlessNotFound);
  if (run !== undefined && (isOwn(run, peer) || mayOthers())) return run;
  throw new GatewayError('gateway.run_not_found', 'There is no such run of this credential.');
}

function unlessNotFound(error: unknown): undefined {
  if (!(error instanceof GatewayError) || error.code !== 'gateway.run_not_found') throw error;
}

export function isOwn({ credential }: Pick<KnownRun, 'credential'>, peer: AuthenticatedPeer): boolean {
  return credential === (peer.via === 'certificate' ? peer.device : peer.token);
}
