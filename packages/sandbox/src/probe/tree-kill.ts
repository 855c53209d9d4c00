import type { SandboxProfile } from '../profile.ts';
import { hostSurveyFiles } from '../survey/survey-files.ts';
import { enforced, type LayerReport, missing } from './host-report.ts';
import { type ProbeContext, probeCommand } from './inspect.ts';

/** A process of another session, of a parent that is gone, deaf to what can be ignored. */
const RUNAWAY = 'trap "" HUP INT TERM; echo ready; sleep 600; :';
const SCRIPT = [
  `if command -v setsid >/dev/null 2>&1; then (setsid sh -c '${RUNAWAY}' "$PROBE_MARK" &)`,
  `else (sh -c '${RUNAWAY}' "$PROBE_MARK" &); fi`,
  'sleep 600',
].join('\n');

/** Starts a tool that runs away, cancels it, and looks in the host's /proc whether anything is left. */
export async function probeTreeKill({ sandbox, place }: ProbeContext, profile: SandboxProfile): Promise<LayerReport> {
  const cancelling = new AbortController();
  let seen = 0;
  const { kind } = await sandbox.run(probeCommand(place, SCRIPT), profile, {
    signal: cancelling.signal,
    onOutput() {
      seen += countMarked(place.mark);
      cancelling.abort();
    },
  });
  const left = countMarked(place.mark);
  if (kind === 'cancelled' && seen > 0 && left === 0) {
    return enforced('tree_kill', 'A runaway in another session was ended too.');
  }
  if (left > 0) return missing('tree_kill', 'A process outlived the command that started it.', REPORT);
  return missing('tree_kill', 'It could not be seen whether runaway processes end with their command.', PROC_FIX);
}

const REPORT = 'This is a fault: please report it with the version of your kernel.';
const PROC_FIX = 'Give palyrad a /proc that shows its own processes.';

/** Not only children: what ran away has another parent now. */
function countMarked(mark: string): number {
  return hostSurveyFiles
    .list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => hostSurveyFiles.readText(`/proc/${pid}/cmdline`)?.split('\0').includes(mark) === true).length;
}
