import type { EgressCall, HostRule } from '@palyra/egress';
import type { SecretBytes, SecretText } from '@palyra/primitives';
import type { PermittedCall } from '../tool-call/permitted-call.ts';

/** What one call has of the vault's: headers for bound hosts, which the proxy puts on and its tool never sees. */
export interface CallCredentials {
  /** Bound hosts whose TLS has to be ended for that, each by its name; the box of the call trusts an authority for them. */
  readonly terminate: readonly HostRule[];
  /** Asked for each request to a host that the call may reach. What it throws ends the request. */
  readonly credential: NonNullable<EgressCall['credential']>;
  /** One by its name, for a guest that was granted that name and asks for its use. Undefined: this caller has none. Absent: nobody has. */
  secret?(name: string): Promise<NamedSecret | undefined>;
}

/** One secret, and how it goes on a request. Whoever named it never gets either. */
export interface NamedSecret {
  /** What must not come back in any form: masked from its first use on. One that cannot be masked is not used. */
  readonly value: SecretText | SecretBytes;
  /** The headers that hold it on a request for this target. Undefined: it is not bound to that one. */
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
