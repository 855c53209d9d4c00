import type { Hint } from '@palyra/sandbox';
import type { NetworkUse } from '../connections/network-use.ts';

/**
 * What the sandbox guesses of a command that could not connect, with what is known of its network: that it was denied at
 * the proxy, that it got through, or that there is none. That it never came to the proxy is the sandbox's own guess.
 */
export function withNetworkHint(hints: readonly Hint[], use: NetworkUse): readonly Hint[] {
  const denied = use.attempts.find(({ outcome, denial }) => outcome === 'denied' && denial !== undefined)?.denial;
  const at = hints.findIndex(({ kind }) => kind === 'network');
  if (denied !== undefined) {
    // SECURITY: T-08 — the sentence is ours; the host in it has passed the grammar.
    const hint: Hint = { kind: 'network', what: denied.message, fix: denied.fix };
    return at < 0 ? [hint, ...hints] : hints.with(at, hint);
  }
  if (at < 0 || (use.hadWayOut && use.attempts.length === 0)) return hints;
  // It came through, so whatever failed was something else.
  return use.hadWayOut ? hints.toSpliced(at, 1) : hints.with(at, OFFLINE);
}

const OFFLINE: Hint = {
  kind: 'network',
  what: 'The command was run without a network.',
  fix: 'Name the hosts that it needs (--net HOST,… or the field network), or fetch it outside and put it into the workspace.',
};
