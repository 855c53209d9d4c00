import type { HostRule } from '@palyra/egress';
import type { SandboxProfile } from '@palyra/sandbox';
import type { ToolRefusal } from '../catalog/tool.ts';
import { nameNetwork } from '../connections/named-network.ts';
import type { OperatorNetwork } from '../connections/operator-network.ts';
import type { ProcessInput } from './process-command.ts';

/** What a command may reach, and who holds it to that. */
export interface ProcessNetwork {
  readonly kind: 'network';
  /** The EgressEnforcementMode of the seeds. */
  readonly mode: 'none' | 'preflight' | 'strict';
  readonly rules: readonly HostRule[];
  /** `host:port`. */
  readonly hosts: readonly string[];
  readonly privateHosts: readonly string[];
  /** What becomes of another host: somebody is asked while the connection is held, or it is denied. */
  readonly unlisted: 'ask' | 'deny';
  /** Its connections go through the proxy; outside a box it has the host's network, and nobody between. */
  readonly isProxied: boolean;
  /** The call itself speaks of the network: without a way out it does not run. */
  readonly isWished: boolean;
}

export interface NetworkQuestion {
  readonly input: Pick<ProcessInput, 'network' | 'egress' | 'unlisted'>;
  readonly operators: SandboxProfile;
  readonly tier: SandboxProfile['tier'];
  readonly operator: OperatorNetwork;
}

/** Less than the operator has is free; more is in what comes out, and so in what policy decides on. */
export function processNetwork({ input, operators, tier, operator }: NetworkQuestion): ProcessNetwork | ToolRefusal {
  const mode = input.egress ?? modeOf(input, operators, tier);
  // The open network has no list: whoever asks for it leaves the operator's behind, and is decided about as that.
  const isUsual = tier === operators.tier && mode !== 'none';
  const written = input.network ?? (isUsual ? operators.egress.hosts : []);
  if (mode === 'none' && written.length > 0) {
    return invalid('The open network has no list of hosts.', 'Leave network away, or say egress: "strict".');
  }
  const named = nameNetwork(written, operator.privateRanges);
  if (named.kind === 'malformed') return invalid(`The field network[${named.at}]: ${named.message}`, named.fix);
  const unlisted = input.unlisted ?? (input.network === undefined ? operator.unlisted : 'deny');
  return {
    ...named,
    kind: 'network',
    mode,
    // Only a wall can hold a connection while somebody is asked.
    unlisted: mode === 'strict' && tier === 'C' ? unlisted : 'deny',
    isProxied: tier === 'C',
    isWished: named.rules.length > 0 || mode !== 'strict' || input.unlisted === 'ask',
  };
}

/** SECURITY: T-20 — whoever names hosts is held to them, or refused where nothing can: never the open network instead. */
function modeOf(
  { network }: NetworkQuestion['input'],
  operators: SandboxProfile,
  tier: SandboxProfile['tier'],
): ProcessNetwork['mode'] {
  if (network !== undefined) return 'strict';
  if (tier === operators.tier) return operators.egress.mode;
  return tier === 'B' ? 'none' : 'strict';
}

/** What the sandbox is told: it knows of a wall and of none. */
export function sandboxEgress({ mode, hosts }: ProcessNetwork): SandboxProfile['egress'] {
  return mode === 'strict' ? { mode, hosts } : { mode: 'none', hosts: [] };
}

function invalid(message: string, fix: string): ToolRefusal {
  return { kind: 'refused', code: 'gateway.invalid_input', message, fix };
}
