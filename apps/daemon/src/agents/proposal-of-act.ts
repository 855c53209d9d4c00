import { existsSync } from 'node:fs';
import type { AgentAct, AgentEvent } from '@palyra/agents';
import type { DelegatedAct, DelegatedInput } from '@palyra/gateway';
import { canonicalJson, type JsonValue } from '@palyra/primitives';

type Before = Extract<AgentEvent, { readonly kind: 'before' }>;

/** What the gateway is asked, and who will do it. */
export type ActProposal =
  /** Decided now, and run in the box when the agent comes for it. */
  | { readonly kind: 'held'; readonly tool: 'palyra.process.run'; readonly input: string; readonly command: string }
  /** The agent does it, and reports. */
  | { readonly kind: 'delegated'; readonly tool: `agent.${DelegatedAct}`; readonly input: string }
  /** Nothing to decide here. */
  | { readonly kind: 'none' };

export interface ProposingClient {
  readonly name: string;
  /** Whether it takes another command for its own. */
  readonly canRewrite: boolean;
}

/** From the hook's message alone: nothing here is the agent's to choose but what its tool would do. */
export function proposalOf({ tool, act, input }: Before, { name, canRewrite }: ProposingClient): ActProposal {
  const delegated = (kind: DelegatedAct, more: Partial<DelegatedInput> = {}): ActProposal => {
    const said: DelegatedInput = { client: name, tool, paths: [], arguments: canonicalJson(input), ...more };
    return { kind: 'delegated', tool: `agent.${kind}`, input: JSON.stringify(said) };
  };
  switch (act.kind) {
    case 'shell':
      if (!canRewrite) return delegated('shell');
      return {
        kind: 'held',
        tool: 'palyra.process.run',
        input: JSON.stringify(commandOf(act)),
        command: act.command,
      };
    case 'read':
    case 'write':
      return delegated(act.kind, { paths: act.paths });
    case 'fetch':
      return delegated('fetch', { url: act.url });
    case 'upstream':
      return delegated('upstream', { server: act.server });
    case 'unknown':
      return delegated('unknown');
    case 'ours':
    case 'harmless':
      return { kind: 'none' };
  }
}

const SHELLS = ['/bin/bash', '/usr/bin/bash', '/bin/sh'];

/** An argv: the agent's own text is one argument of its shell, as it was in the agent. */
function commandOf({ command, cwd }: Extract<AgentAct, { readonly kind: 'shell' }>): JsonValue {
  const shell = SHELLS.find((path) => existsSync(path)) ?? '/bin/sh';
  return { argv: [shell, '-c', command], cwd };
}
