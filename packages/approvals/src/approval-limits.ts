/** What the operator may set. Times are milliseconds. */
export interface ApprovalLimits {
  /** How long a question stays open. */
  readonly questionMs: number;
  /** How long a yes for one use may wait for its call, which may have been parked. */
  readonly onceMs: number;
  /** The longest that a yes for a session holds. */
  readonly sessionMs: number;
  /** The longest that a yes for a time holds, whatever the approver asks for. */
  readonly timeboxMs: number;
  /** How many questions of one principal may be open. */
  readonly pendingPerPrincipal: number;
  /** How many questions one principal may put in `questionWindowMs`. */
  readonly questionsPerWindow: number;
  readonly questionWindowMs: number;
  /** After so many denials in a row, within `denialWindowMs`, an agent asks nothing for `coolDownMs`. */
  readonly coolDownAfter: number;
  readonly denialWindowMs: number;
  readonly coolDownMs: number;
  /** How many calls may wait for one answer. */
  readonly waitingPerCard: number;
  /** How far the clock of whoever signs a yes may be from that of whoever asked or records it. */
  readonly clockSkewMs: number;
  /** For so long a denial answers the very same question when it is asked again. */
  readonly denialHoldsMs: number;
}

/** The section `approvals` of palyra.toml, as far as it sets limits. */
export interface ApprovalSettings {
  readonly timeout_minutes: number;
  readonly timeboxed_hours: number;
  readonly questions_per_hour: number;
  readonly cool_down_minutes: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const DEFAULT_APPROVAL_LIMITS: ApprovalLimits = {
  questionMs: 30 * MINUTE,
  onceMs: HOUR,
  sessionMs: 12 * HOUR,
  timeboxMs: 8 * HOUR,
  pendingPerPrincipal: 32,
  questionsPerWindow: 120,
  questionWindowMs: HOUR,
  coolDownAfter: 3,
  denialWindowMs: 30 * MINUTE,
  coolDownMs: 10 * MINUTE,
  denialHoldsMs: 10 * MINUTE,
  waitingPerCard: 128,
  clockSkewMs: 5_000,
};

/** What the operator set, over the defaults. */
export function limitsOf(settings: ApprovalSettings): ApprovalLimits {
  return {
    ...DEFAULT_APPROVAL_LIMITS,
    questionMs: settings.timeout_minutes * MINUTE,
    timeboxMs: settings.timeboxed_hours * HOUR,
    questionsPerWindow: settings.questions_per_hour,
    questionWindowMs: HOUR,
    coolDownMs: settings.cool_down_minutes * MINUTE,
  };
}
