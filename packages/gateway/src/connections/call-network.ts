import { randomBytes } from 'node:crypto';
import { type Egress, type EgressCall, EgressError, type OpenedEgress } from '@palyra/egress';
import { describeError } from '@palyra/primitives';
import type { Gate, RunOptions } from '@palyra/sandbox';
import type { ExecuteContext, ToolRefusal } from '../catalog/tool.ts';
import type { ProcessNetwork } from '../tools/process-network.ts';
import { type BindCredentials, type CredentialedCall, credentialsOf } from './bound-credentials.ts';
import { type NetworkUse, NO_NETWORK } from './network-use.ts';
import type { OperatorNetwork } from './operator-network.ts';

/** The way out of one call: what the sandbox is given, and afterwards what became of it. */
export interface CallNetwork {
  readonly kind: 'open';
  readonly options: Pick<RunOptions, 'wayOut'>;
  /** Ends every connection of the call, once however often it is asked to. */
  end(): Promise<NetworkUse>;
}

export interface CallNetworkDeps {
  readonly egress?: Pick<Egress<Gate>, 'open'> | undefined;
  readonly operator: OperatorNetwork;
  /** Absent: nothing is bound, and no TLS is ended. */
  readonly credentials?: BindCredentials;
}

/** Whose way out it is, and who is asked about what it did not name. */
export interface NetworkedCall {
  readonly call: CredentialedCall;
  readonly context: NetworkContext;
}

export interface NetworkContext extends Pick<ExecuteContext, 'connect'> {
  /** Who answers where the call asks for palyrad itself. */
  readonly door?: NonNullable<EgressCall['door']>;
}

/** Refused when the call wishes for a network and there is no way out. One that does not runs offline, which is less. */
export async function openCallNetwork(
  network: ProcessNetwork,
  calling: NetworkedCall,
  deps: CallNetworkDeps,
): Promise<CallNetwork | ToolRefusal> {
  const opened = await openWayOut(network, calling, deps).catch(refusal);
  if (opened !== undefined && 'code' in opened) return network.isWished ? opened : OFFLINE;
  const close = async (): Promise<NetworkUse> => {
    const attempts = (await opened?.close()) ?? [];
    return { mode: network.mode, hadWayOut: opened !== undefined, attempts };
  };
  let ended: Promise<NetworkUse> | undefined;
  return {
    kind: 'open',
    options: opened === undefined ? {} : { wayOut: wayOutOf(opened) },
    end() {
      ended ??= close();
      return ended;
    },
  };
}

/** Whether the box of such a call is made with a way out. */
export function wantsWayOut({ isProxied, isWished, unlisted }: ProcessNetwork, { egress }: CallNetworkDeps): boolean {
  return egress !== undefined && isProxied && (isWished || unlisted === 'ask');
}

async function openWayOut(
  network: ProcessNetwork,
  { call: { id, run, toolName }, context: { connect, door } }: NetworkedCall,
  deps: CallNetworkDeps,
): Promise<OpenedEgress<Gate> | undefined> {
  if (!wantsWayOut(network, deps)) return undefined;
  const call = egressCall(deps.operator, {
    mode: network.mode === 'strict' ? 'strict' : 'none',
    rules: network.rules,
    ...(network.unlisted === 'ask' && connect !== undefined ? { ask: connect } : {}),
    ...(await credentialsOf({ id, run, toolName }, deps.credentials)),
    ...(door === undefined ? {} : { door }),
  });
  // One that died is noticed by whoever wants it next: then there is another.
  return deps.egress?.open(call).catch((thrown: unknown) => {
    if (!(thrown instanceof EgressError) || thrown.code !== 'egress.gate_failed') throw thrown;
    return deps.egress?.open(call);
  });
}

/** SECURITY: T-24 — the authority of this call goes into its own box, as a certificate; its key stays in the proxy. */
function wayOutOf({ gate, label, caPem }: OpenedEgress<Gate>): NonNullable<RunOptions['wayOut']> {
  return { gate, label, ...(caPem === undefined ? {} : { authority: caPem }) };
}

const OFFLINE: CallNetwork = { kind: 'open', options: {}, end: async () => NO_NETWORK };

function refusal(thrown: unknown): ToolRefusal {
  const { code, message, fix } = describeError(thrown);
  return { kind: 'refused', code, message, fix };
}

/** What every call has of the operator's. */
export function egressCall(
  { privateRanges, pinned, authorities, limits }: OperatorNetwork,
  call: Pick<EgressCall, 'mode' | 'rules' | 'ask' | 'onAttempt' | 'terminate' | 'credential' | 'door'>,
): EgressCall {
  return { label: randomBytes(24).toString('base64url'), privateRanges, pinned, authorities, limits, ...call };
}
