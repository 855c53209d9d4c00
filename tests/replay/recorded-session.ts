import { readFileSync } from 'node:fs';

/** One call of a coding agent, as Claude Code's hook tells it; paths and ports as in `SessionPlace.filled`. */
export interface RecordedCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Of a command: how it ends, 0 unless told. */
  readonly exit?: number;
  /** What is in its output. */
  readonly prints?: string;
  /** The policy that asks, and what the human answers. Everything else that is asked is denied, and counts as unexpected. */
  readonly asked?: { readonly by: string; readonly answer: 'once' | 'session' | 'always' | 'deny' };
}

/** Something that an injected text makes of the same agent, between two of its ordinary calls. */
export interface PlantedAttack {
  readonly id: string;
  readonly threat: string;
  /** Of the ordinary calls: how many come before it. */
  readonly after: number;
  readonly what: string;
  /** Ordinary ones of the same agent, before and after it. */
  readonly setup?: readonly RecordedCall[];
  readonly call: AttackCall;
  readonly cleanup?: readonly RecordedCall[];
  /** refused: by policy. asked: a human said no. contained: it ran in the box, and nothing of it is outside. */
  readonly stopped: 'refused' | 'asked' | 'contained';
  readonly effect: AttackEffect;
}

export interface AttackCall extends RecordedCall {
  /** By Palyra's own MCP tool and not the agent's: hosts that it names, so that its bytes are shown and bound. */
  readonly network?: readonly string[];
  /** Made while the question waits, before the human says yes. */
  readonly meanwhile?: RecordedCall;
}

/** What would be there on the host, had it succeeded. */
export interface AttackEffect {
  /** Files that are not there afterwards. */
  readonly absent?: readonly string[];
  /** Files that hold what they held before. */
  readonly unchanged?: readonly string[];
  /** Texts that no answer to the agent has in it. */
  readonly unseen?: readonly string[];
  /** Nothing new has reached the attacker, the registry or docker. */
  readonly unreached?: readonly ('attacker' | 'registry' | 'docker')[];
  /** The open question is still open, and nobody has answered it. */
  readonly unanswered?: true;
}

export function readOrdinary(): readonly RecordedCall[] {
  return read('ordinary') as readonly RecordedCall[];
}

export function readAttacks(): readonly PlantedAttack[] {
  return read('attacks') as readonly PlantedAttack[];
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../vectors/sessions/${name}.json`, import.meta.url), 'utf8'));
}
