/** What the gateway should do with calls, in as few words as it can be said: plain data, one thing after the other. */
export interface GatewayModel {
  policy: PolicyName;
  now: number;
  readonly runs: ModelRun[];
  readonly calls: ModelCall[];
  readonly cards: ModelCard[];
  readonly grants: ModelGrant[];
  /** The commit before or after which the process dies. */
  fuse: Fuse | undefined;
}

export type PolicyName = 'plain' | 'strict' | 'loose' | 'broken';
export type ToolName = 'free' | 'alone' | 'asked' | 'denied' | 'faulty' | 'unknown' | 'nest';

export interface Fuse {
  readonly at: 'decision' | 'approval.requested' | 'approval.decided' | 'intent' | 'attestation';
  readonly when: 'before' | 'after';
}

export interface ModelRun {
  readonly index: number;
  readonly session: number;
  used: number;
  refused: number;
  isOver: boolean;
  readonly keys: Map<string, ModelCall>;
  /** Those that were permitted, in that order. */
  turns: ModelCall[];
}

export interface Proposal {
  readonly tool: ToolName;
  /** `go …`, `hold …`, `fail`, or `bad`, which is no input; of `nest`: the tool and the text of the call that it makes. */
  readonly text: string;
  readonly key?: string;
}

export interface ModelCall extends Proposal {
  readonly index: number;
  readonly run: ModelRun;
  readonly parent: ModelCall | undefined;
  /** Its name on the card: the same for the same key, whatever dies in between. */
  readonly asker: string;
  stage: 'begun' | 'asked' | 'executing' | 'ended' | 'lost';
  /** Of its outcome, or its kind where there is none. */
  code: string;
  isReserved: boolean;
  isStopped: 'cancelled' | 'timed_out' | undefined;
  hasIntent: boolean;
  /** What the journal has as decided, in order. */
  readonly decisions: string[];
  card: ModelCard | undefined;
  permit: Permit | undefined;
  startedAt: number;
  effects: number;
}

/** A yes that was found good; used when its call begins. */
export interface Permit {
  readonly card?: ModelCard;
  readonly grant?: ModelGrant;
  readonly until: number;
}

export interface ModelCard {
  readonly text: string;
  readonly session: number;
  readonly expiresAt: number;
  /** Names of those who wait, or waited when their process died. */
  readonly askers: Set<string>;
  state: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled' | 'superseded';
  endedAt: number;
  until: number;
  grant: ModelGrant | undefined;
  isByOther: boolean;
  isUsed: boolean;
}

export interface ModelGrant {
  readonly session: number | undefined;
  readonly until: number;
  state: 'live' | 'revoked' | 'fallen';
}

export const MOST_CALLS = 5;
export const MINUTE = 60_000;
export const TIMEOUT_MS: number = 20 * MINUTE;
export const LIMITS = {
  questionMs: 30 * MINUTE,
  onceMs: 60 * MINUTE,
  sessionMs: 45 * MINUTE,
  timeboxMs: 10 * MINUTE,
  denialHoldsMs: 10 * MINUTE,
  pendingPerPrincipal: 1000,
  questionsPerWindow: 100_000,
  coolDownAfter: 1000,
} as const;

/** Thrown where the fuse ends: whatever would have come next did not. */
export const DIED: Error = new Error('The process of the model died.');

/** A commit is about to be tried, whatever comes of it. */
export function reach({ fuse }: GatewayModel, at: Fuse['at']): void {
  if (fuse?.at === at && fuse.when === 'before') throw DIED;
}

export function commit(model: GatewayModel, at: Fuse['at'], apply: () => void): void {
  reach(model, at);
  apply();
  if (model.fuse?.at === at) throw DIED;
}

export function createModel(now: number): GatewayModel {
  return { policy: 'plain', now, runs: [], calls: [], cards: [], grants: [], fuse: undefined };
}

export function startRun({ runs }: GatewayModel, session: number): ModelRun {
  const run = { index: runs.length, session, used: 0, refused: 0, isOver: false, keys: new Map(), turns: [] };
  runs.push(run);
  return run;
}

export function stateOf({ now }: GatewayModel, card: ModelCard): ModelCard['state'] {
  return card.state === 'pending' && card.expiresAt <= now ? 'expired' : card.state;
}
