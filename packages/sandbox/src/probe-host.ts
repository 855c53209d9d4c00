import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, release } from 'node:os';
import { type Logger, sha256Hex } from '@palyra/primitives';
import { bubblewrapLayer, probeBubblewrap, withoutBubblewrap } from './backends/bubblewrap/probe.ts';
import { probeLimits, withoutLimits } from './backends/limits/probe.ts';
import { createSandbox, type Sandbox } from './create-sandbox.ts';
import { findLauncher } from './launcher/find-launcher.ts';
import { type BubblewrapFacts, type HostReport, missing, type TierReport } from './probe/host-report.ts';
import { makeProbePlace } from './probe/probe-place.ts';
import { type ReportStore, remembered } from './probe/report-store.ts';
import { SandboxError } from './sandbox-error.ts';
import { findBubblewrap } from './survey/find-bubblewrap.ts';
import { hostSurveyFiles } from './survey/survey-files.ts';
import type { OperatorPlaces } from './survey/survey-host.ts';

export interface ProbeDeps {
  readonly operator: OperatorPlaces;
  readonly logger: Pick<Logger, 'error'>;
  /** The probe's workspace is made in it, and removed. */
  readonly temporaryDirectory: string;
  /** Without one every probe starts anew. */
  readonly store?: ReportStore;
  /** Where the launcher is; found beside this package when absent. */
  readonly launcherProgram?: string;
}

/**
 * Starts a sandbox of each tier and says what holds in it, layer by layer. What this host lacks is part of the report.
 * Throws `sandbox.start_failed` when there is no room for a workspace.
 */
export async function probeHost(deps: ProbeDeps): Promise<HostReport> {
  const host = {
    kernel: release(),
    architecture: arch(),
    uid: process.geteuid?.() ?? -1,
    bubblewrap: await aboutBubblewrap(),
  };
  const opened = await open(deps);
  if (opened.kind === 'refused') return { ...host, tiers: withoutLauncher(opened.fault, host.bubblewrap) };

  const { sandbox, launcherSha256 } = opened;
  try {
    const place = makeProbePlace(deps.temporaryDirectory);
    try {
      const context = { sandbox, place, bubblewrap: host.bubblewrap, launcherSha256 };
      const { kernel, uid, bubblewrap } = host;
      const circumstances = { kernel, uid, bubblewrapVersion: bubblewrap?.version, launcherSha256 };
      const c = await remembered(deps.store, { tier: 'C', ...circumstances }, () => probeBubblewrap(context));
      const b = await remembered(deps.store, { tier: 'B', ...circumstances }, () => probeLimits(context));
      return { ...host, tiers: [c, b] };
    } finally {
      place.remove();
    }
  } finally {
    await sandbox.close();
  }
}

type Opened =
  | { readonly kind: 'open'; readonly sandbox: Sandbox; readonly launcherSha256: string }
  | { readonly kind: 'refused'; readonly fault: SandboxError };

async function open({ operator, logger, launcherProgram }: ProbeDeps): Promise<Opened> {
  const program = launcherProgram ?? findLauncher();
  try {
    // Without one this throws, and says what to do.
    const found = program === undefined ? {} : { launcherProgram: program };
    const sandbox = await createSandbox({ operator, logger, pool: 'off', ...found });
    return { kind: 'open', sandbox, launcherSha256: program === undefined ? '' : sha256Hex(readFileSync(program)) };
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return { kind: 'refused', fault: error };
  }
}

function withoutLauncher(
  { message, fix }: SandboxError,
  bubblewrap: BubblewrapFacts | undefined,
): readonly TierReport[] {
  const launcher = missing('launcher', message, fix);
  const why = { reason: message, fix };
  return [withoutBubblewrap([launcher, bubblewrapLayer(bubblewrap)], why), withoutLimits([launcher], why)];
}

async function aboutBubblewrap(): Promise<BubblewrapFacts | undefined> {
  const path = findBubblewrap(hostSurveyFiles);
  if (path === undefined) return undefined;
  const said = await new Promise<string>((resolve) => {
    execFile(path, ['--version'], { env: {}, cwd: '/', timeout: 5000 }, (_fault, stdout) => resolve(stdout));
  });
  return { path, version: /^bubblewrap ([0-9][0-9A-Za-z.~+-]*)\s*$/.exec(said)?.[1] };
}
