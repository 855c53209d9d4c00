/** One line of the scorecard: what was tried, and what came of it. */
export interface AttackRow {
  readonly id: string;
  /** Of the threat model. */
  readonly threat: string;
  readonly attempt: string;
  readonly expected: string;
  readonly observed: string;
  /** What should stop it. */
  readonly layer: string;
  /** Whatever was not seen to be stopped is open. */
  readonly status: 'stopped' | 'open';
}

export type AttackPlan = Omit<AttackRow, 'observed' | 'status'>;

/** What is there to be reached, all of it made for this: nothing of the user's is touched. */
export interface AttackTargets {
  /** A file beside the workspace. */
  readonly outsideFile: string;
  /** The stand-in for the operator's home, with a key in it. */
  readonly userHome: string;
  readonly palyraHome: string;
  /** Somebody listens there, on loopback of the host. */
  readonly port: number;
  /** A process of the host that has the canary in its environment. */
  readonly hostPid: number;
  /** How many processes are too many. */
  readonly processes: number;
}

/** An attempt that a program makes, run as any agent's command is. */
export interface ProgrammedAttack extends AttackPlan {
  /** What palyra-attacker is told. */
  words(targets: AttackTargets): readonly string[];
}

export const CANARY = 'PALYRA_ATTACK_CANARY';

/** What palyra-attacker said, and how it ended, for where it said nothing. */
export interface AttackerEnd {
  readonly stdout: string;
  readonly how: string;
}

/** What the attempt came to. */
export type Attempt =
  | { readonly kind: 'not_tried'; readonly observed: string }
  | { readonly kind: 'came_through'; readonly observed: string }
  | { readonly kind: 'held'; readonly observed: string };

/** SECURITY: T-20 — one that never began, or did not come to its end, proves nothing: only what the attacker met counts as held. */
export function readAttempt({ stdout, how }: AttackerEnd): Attempt {
  const [begun, met = '', ...more] = stdout.trimEnd().split('\n');
  if (begun !== 'TRIED') return { kind: 'not_tried', observed: `It could not be tried: ${how}` };
  if (met === 'OPEN') return { kind: 'came_through', observed: 'It came through.' };
  const [, reason] = /^STOPPED (.+)$/.exec(met) ?? [];
  if (reason === undefined || more.length > 0)
    return { kind: 'not_tried', observed: `It was not tried to its end: ${how}` };
  return { kind: 'held', observed: `It did not come through: ${reason}` };
}

export function judgeAttempt(plan: AttackPlan, said: AttackerEnd): AttackRow {
  const { kind, observed } = readAttempt(said);
  return judgeAnswer(plan, { isStopped: kind === 'held', observed });
}

/** What an attempt through the API came to. */
export function judgeAnswer(
  plan: AttackPlan,
  { isStopped, observed }: { isStopped: boolean; observed: string },
): AttackRow {
  const { id, threat, attempt, expected, layer } = plan;
  return { id, threat, attempt, expected, observed, layer, status: isStopped ? 'stopped' : 'open' };
}
