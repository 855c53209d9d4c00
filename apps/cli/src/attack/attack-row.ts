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

/** An attempt that is a script, run as any agent's command is. */
export interface ScriptedAttack extends AttackPlan {
  /** Says TRIED when it begins, and OPEN when it came through. */
  script(targets: AttackTargets): string;
}

export const CANARY = 'PALYRA_ATTACK_CANARY';

/** What a script said. SECURITY: T-20 — one that never began proves nothing: not tried is not stopped. */
export function judgeScript(plan: AttackPlan, said: { readonly stdout: string; readonly how: string }): AttackRow {
  const { id, threat, attempt, expected, layer } = plan;
  const lines = said.stdout.split('\n');
  const isTried = lines.includes('TRIED');
  const isOpen = !isTried || lines.includes('OPEN');
  const observed = !isTried
    ? `It could not be tried: ${said.how}`
    : isOpen
      ? 'It came through.'
      : 'It did not come through.';
  return { id, threat, attempt, expected, observed, layer, status: isOpen ? 'open' : 'stopped' };
}

/** What an attempt through the API came to. */
export function judgeAnswer(
  plan: AttackPlan,
  { isStopped, observed }: { isStopped: boolean; observed: string },
): AttackRow {
  const { id, threat, attempt, expected, layer } = plan;
  return { id, threat, attempt, expected, observed, layer, status: isStopped ? 'stopped' : 'open' };
}
