import type { EgressCall, HostRule } from '@palyra/egress';
import type { PermittedCall } from '../tool-call/permitted-call.ts';

/** What one call has of the vault's: headers for bound hosts, which the proxy puts on and its tool never sees. */
export interface CallCredentials {
  /** Bound hosts whose TLS has to be ended for that, each by its name; the box of the call trusts an authority for them. */
  readonly terminate: readonly HostRule[];
  /** Asked for each request to a host that the call may reach. What it throws ends the request. */
  readonly credential: NonNullable<EgressCall['credential']>;
}

/** Whose call it is: from the credential and the registry, never from what the caller wrote. */
export interface CredentialQuestion {
  readonly principal: string;
  readonly workspace: string;
  readonly call: string;
  readonly tool: string;
}

/** Asked once, before a call with a way out begins. Undefined: nothing is bound. What it throws refuses the call. */
export type BindCredentials = (question: CredentialQuestion) => Promise<CallCredentials | undefined>;

/** As the egress has it; without credentials no TLS is ended. Throws what `bind` throws. */
export async function credentialsOf(
  { id, run, toolName }: CredentialedCall,
  bind: BindCredentials | undefined,
): Promise<Partial<CallCredentials>> {
  const { caller, workspace } = run;
  const question = { principal: caller.actor, workspace: workspace.id, call: id, tool: toolName };
  return (await bind?.(question)) ?? {};
}

export type CredentialedCall = Pick<PermittedCall, 'id' | 'run' | 'toolName'>;
