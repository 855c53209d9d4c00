import type { SandboxCommand } from '../command.ts';
import type { Sandbox } from '../create-sandbox.ts';
import type { MeasuredFacts } from '../facts/measured-facts.ts';
import { DEFAULT_LIMITS, type SandboxProfile } from '../profile.ts';
import type { RunResult } from '../run-result.ts';
import type { BubblewrapFacts } from './host-report.ts';
import type { ProbePlace } from './probe-place.ts';

/** What the probe of a tier works with. */
export interface ProbeContext {
  readonly sandbox: Sandbox;
  readonly place: ProbePlace;
  readonly bubblewrap: BubblewrapFacts | undefined;
  readonly launcherSha256: string;
}

/** What a tool found when it tried, and what was measured before it did. */
export interface Inspection {
  readonly facts: MeasuredFacts;
  /** By name; what is tried answers `yes` or `no`. */
  readonly answers: ReadonlyMap<string, string>;
  /** Lines of /proc/self/mountinfo as the tool sees it. */
  readonly mounts: readonly string[];
  /** Whether an exit code above 128 was told from a signal. */
  readonly isExact: boolean;
}

export type Inspected =
  | { readonly kind: 'inspected'; readonly inspection: Inspection }
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string; readonly fix: string | undefined };

/** Shells say 137 for a process that was killed, so nothing but the kernel can tell the two apart. */
const ODD_EXIT = 137;

/** As little as there is on every Linux: a POSIX shell and its own commands. */
const PRELUDE = 'can() { if ( eval "$2" ) >/dev/null 2>&1 </dev/null; then echo "$1=yes"; else echo "$1=no"; fi; }\n';
const FINALE = `\nwhile read -r line; do echo "mount=$line"; done < /proc/self/mountinfo\nexit ${ODD_EXIT}\n`;

/** What a script of a probe finds in its environment; PROBE_LEAK must not be among it. */
const PASSED = ['PROBE_OUTSIDE', 'PROBE_PEER', 'PROBE_MARK'];

/** Runs the attempts in one sandbox. Each is a name and a piece of shell that succeeds where the tool can do it. */
export async function inspect(
  { sandbox, place }: ProbeContext,
  profile: SandboxProfile,
  attempts: Readonly<Record<string, string>>,
): Promise<Inspected> {
  const tries = Object.entries(attempts).map(([name, shell]) => `can ${name} '${shell}'`);
  return readResult(await sandbox.run(probeCommand(place, `${PRELUDE}${tries.join('\n')}${FINALE}`), profile));
}

export function probeCommand(place: ProbePlace, script: string): SandboxCommand {
  return {
    argv: ['/bin/sh', '-c', script],
    environment: {
      PROBE_OUTSIDE: place.outside,
      PROBE_PEER: String(process.pid),
      PROBE_MARK: place.mark,
      PROBE_LEAK: 'A variable that no profile names.',
    },
  };
}

/** As an agent's command would get it, without what the probe does not need. */
export function probeProfile(tier: SandboxProfile['tier'], { workspace, outside }: ProbePlace): SandboxProfile {
  return {
    tier,
    workspace: { root: workspace, access: 'read-write' },
    readOnlyPaths: [],
    writablePaths: [],
    // In Tier C it is out of sight because nobody put it there.
    maskedPaths: tier === 'B' ? [outside] : [],
    executables: 'any',
    interpreters: 'allowed',
    egress: { mode: tier === 'C' ? 'strict' : 'none', hosts: [] },
    toolchains: 'none',
    unixSockets: 'refused',
    limits: { ...DEFAULT_LIMITS, wallMs: PATIENCE_MS, idleMs: PATIENCE_MS },
    mustHold: [],
    environment: PASSED,
    startedFor: 'agent',
  };
}

const PATIENCE_MS = 30_000;

function readResult(result: RunResult): Inspected {
  if (result.kind === 'refused' || result.kind === 'failed_to_start') {
    return { kind: 'refused', code: result.code, reason: result.message, fix: result.fix };
  }
  const isExact = result.kind === 'completed' && result.exitCode === ODD_EXIT;
  const isInexact = result.kind === 'signalled' && result.signal === 'SIGKILL';
  if (result.facts === undefined || !(isExact || isInexact)) {
    const reason = `A sandbox starts, but the probe in it did not end as it should (${result.kind}).`;
    return { kind: 'refused', code: 'sandbox.start_failed', reason, fix: undefined };
  }
  const lines = Buffer.from(result.output.stdout).toString('utf8').split('\n');
  const pairs = lines.map((line): [string, string] => {
    const at = line.indexOf('=');
    return [line.slice(0, Math.max(0, at)), line.slice(at + 1)];
  });
  return {
    kind: 'inspected',
    inspection: {
      facts: result.facts,
      answers: new Map(pairs.filter(([name]) => name !== 'mount')),
      mounts: pairs.filter(([name]) => name === 'mount').map(([, line]) => line),
      isExact,
    },
  };
}

/** SECURITY: T-20 — only a clear `no` counts: what was not answered is not held. */
export function isHeld({ answers }: Inspection, ...names: readonly string[]): boolean {
  return names.every((name) => answers.get(name) === 'no');
}
