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
  /** When whoever is on the way out knows of the call: until then nothing of it may begin. Rejects when it is not to be had so. */
  readonly ready?: Promise<void>;
  /** Ends every connection of the call, once however often it is asked to. */
  end(): Promise<NetworkUse>;
}

export interface CallNetworkDeps {
  readonly egress?: Pick<Egress<Gate>, 'open' | 'begin'> | undefined;
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

/**
 * Of one whose box can be made before the proxy knows of it; undefined where it cannot, because what goes into the box comes from
 * there, or there is no proxy right now.
 */
export async function beginCallNetwork(
  network: ProcessNetwork,
  { context }: Pick<NetworkedCall, 'context'>,
  deps: CallNetworkDeps,
): Promise<CallNetwork | undefined> {
  if (deps.credentials !== undefined || !wantsWayOut(network, deps)) return undefined;
  const asked = networkCall(network, context, deps);
  const begun = await deps.egress?.begin(asked).catch(() => undefined);
  if (begun === undefined) return undefined;
  const close = async () => (await begun.opened.catch(() => undefined))?.close() ?? [];
  const ready = begun.opened.then(() => undefined);
  // Heard of by whoever begins it.
  ready.catch(() => undefined);
  return { ...openNetwork(network, wayOutOf({ ...begun, caPem: undefined }), close), ready };
}

/** Refused when the call wishes for a network and there is no way out. One that does not runs offline, which is less. */
export async function openCallNetwork(
  network: ProcessNetwork,
  calling: NetworkedCall,
  deps: CallNetworkDeps,
): Promise<CallNetwork | ToolRefusal> {
  const opened = await openWayOut(network, calling, deps).catch(refusal);
  if (opened !== undefined && 'code' in opened) return network.isWished ? opened : OFFLINE;
  if (opened === undefined) return openNetwork(network, undefined, async () => []);
  return openNetwork(network, wayOutOf(opened), opened.close);
}

function openNetwork(
  { mode }: ProcessNetwork,
  wayOut: RunOptions['wayOut'],
  close: () => Promise<NetworkUse['attempts']>,
): CallNetwork {
  const end = async () => ({ mode, hadWayOut: wayOut !== undefined, attempts: await close() });
  let ended: Promise<NetworkUse> | undefined;
  return {
    kind: 'open',
    options: wayOut === undefined ? {} : { wayOut },
    end() {
      ended ??= end();
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
  { call: { id, run, toolName }, context }: NetworkedCall,
  deps: CallNetworkDeps,
): Promise<OpenedEgress<Gate> | undefined> {
  if (!wantsWayOut(network, deps)) return undefined;
  const call = {
    ...networkCall(network, context, deps),
    ...(await credentialsOf({ id, run, toolName }, deps.credentials)),
  };
  // One that died is noticed by whoever wants it next: then there is another.
  return deps.egress?.open(call).catch((thrown: unknown) => {
    if (!(thrown instanceof EgressError) || thrown.code !== 'egress.gate_failed') throw thrown;
    return deps.egress?.open(call);
  });
}

function networkCall(
  { mode, rules, unlisted }: ProcessNetwork,
  { connect, door }: NetworkContext,
  { operator }: CallNetworkDeps,
): EgressCall {
  return egressCall(operator, {
    mode: mode === 'strict' ? 'strict' : 'none',
    rules,
    ...(unlisted === 'ask' && connect !== undefined ? { ask: connect } : {}),
    ...(door === undefined ? {} : { door }),
  });
}

/** SECURITY: T-24 — the authority of this call goes into its own box, as a certificate; its key stays in the proxy. */
function wayOutOf({
  gate,
  label,
  caPem,
}: Pick<OpenedEgress<Gate>, 'gate' | 'label' | 'caPem'>): NonNullable<RunOptions['wayOut']> {
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
