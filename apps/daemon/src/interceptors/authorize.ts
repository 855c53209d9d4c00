import type { DescMethod } from '@bufbuild/protobuf';
import type { Caller } from '@palyra/gateway';
import type { ActivePolicies, Decision, PolicyRequest } from '@palyra/policy';
import type { Clock } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import { callerOf } from '../wire/caller-of.ts';
import type { AuthenticatedPeer } from './peer-context.ts';
import { RPC_ACTIONS, type RpcAction, rpcName } from './rpc-actions.ts';

/** Something that is done with palyrad. */
export interface Deed {
  /** One of the Cedar schema's. */
  readonly action: string;
  readonly resource: PolicyRequest['resource'];
  /** What it is done to is the caller's own. */
  readonly isOwn: boolean;
}

/** Who may do what, by the same policies as everything else. */
export interface Authorizer {
  may(peer: AuthenticatedPeer, deed: Deed): boolean;
  /** Throws `daemon.not_permitted`, with the reason and the fix of the policy. */
  require(peer: AuthenticatedPeer, deed: Deed): void;
  /**
   * Before its message is read: whether the caller may do such a thing at all, to what is its own if to nothing else. A
   * service that does it to something asks again, for that. Throws as `require` does.
   */
  requireCall(peer: AuthenticatedPeer, call: RpcAction): void;
}

export interface AuthorizerDeps {
  readonly policies: Pick<ActivePolicies, 'decide'>;
  readonly clock: Pick<Clock, 'now'>;
  /** From what palyrad knows of itself and of this peer. */
  placeOf(peer: AuthenticatedPeer): Pick<Caller, 'coverage' | 'separation'>;
}

/** Anything of that kind; no id can be written so. */
const ANY = 'any';

export function createAuthorizer({ policies, clock, placeOf }: AuthorizerDeps): Authorizer {
  const decide = (peer: AuthenticatedPeer, { action, resource, isOwn }: Deed): Decision => {
    const { principal, groups, deviceId, coverage, separation } = callerOf(peer, placeOf(peer));
    return policies.decide({
      principal,
      groups,
      action,
      resource,
      context: {
        ...(deviceId === undefined ? {} : { deviceId }),
        coverage,
        separation,
        now: clock.now(),
        facts: factsOf(action, peer, isOwn),
      },
    });
  };
  const authorizer: Authorizer = {
    // SECURITY: T-36 — only `allow` is a yes: what would have to be asked is no more allowed here than what is denied.
    may: (peer, deed) => coversToken(peer, deed.action) && decide(peer, deed).kind === 'allow',
    require(peer, deed) {
      if (!coversToken(peer, deed.action)) throw outOfScope(deed.action);
      const { kind, reason, fix } = decide(peer, deed);
      if (kind === 'allow') return;
      throw new DaemonError('daemon.not_permitted', reason, fix === undefined ? {} : { fix });
    },
    requireCall(peer, { action, on, tokensAlso = action }) {
      if (!coversToken(peer, tokensAlso)) throw outOfScope(tokensAlso);
      authorizer.require(peer, { action, resource: { type: on, id: ANY }, isOwn: true });
    },
  };
  return authorizer;
}

/** Throws `daemon.not_permitted`: what is not in the table is served to nobody. */
export function actionOf(method: DescMethod): RpcAction {
  const name = rpcName(method);
  const known = Object.hasOwn(RPC_ACTIONS, name) ? RPC_ACTIONS[name] : undefined;
  if (known !== undefined) return known;
  throw new DaemonError('daemon.not_permitted', 'Nobody may do this: it has no action that policies could decide.');
}

/** SECURITY: T-36 — a token is for some actions, whatever policy allows its principal. */
function coversToken(peer: AuthenticatedPeer, action: string): boolean {
  return peer.via === 'certificate' || peer.actions.includes(action);
}

function outOfScope(action: string): DaemonError {
  return new DaemonError('daemon.not_permitted', `The token is not for ${action}.`, {
    fix: 'Use one that is: palyra token create --action NAME',
  });
}

/** What is stored belongs to its principal. */
function factsOf(action: string, { principal }: AuthenticatedPeer, isOwn: boolean): PolicyRequest['context']['facts'] {
  const isStored = action.startsWith('vault.') || action.startsWith('memory.');
  if (!isStored) return { kind: 'situation', isOwn };
  return { kind: 'stored', scope: principal, ownScopes: isOwn ? [principal] : [] };
}
