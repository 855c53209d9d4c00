import { readFileSync } from 'node:fs';
import type { CgroupDriver } from '../cgroup/detect-cgroups.ts';
import { jobNameOf } from '../cgroup/job-name.ts';
import { planCgroups } from '../cgroup/plan-cgroups.ts';
import type { SandboxCommand } from '../command.ts';
import { parseLimits } from '../facts/parse-proc.ts';
import type { LandlockPlan, RlimitName } from '../launch-plan.ts';
import type { LauncherFacts } from '../launcher/start-launcher.ts';
import type { SandboxProfile } from '../profile.ts';
import type { Refusal } from '../run-result.ts';
import { CREDENTIAL_PATHS } from './credential-paths.ts';
import { findProgram } from './find-program.ts';
import type { HostSurvey, MaskedPath, SystemRoot } from './host-survey.ts';
import { type DirectoryFiles, isFresh, landlockRules } from './landlock-rules.ts';
import { outOfReach } from './out-of-reach.ts';
import { resolvePath, type SurveyFiles } from './survey-files.ts';
import { systemFiles, systemRoots } from './system-layout.ts';
import { chooseIdentity, type IdentityChoice } from './tool-identity.ts';
import { credentialsIn, findToolchains, type Toolchains } from './toolchains.ts';
import { checkWorkspace, type WorkspaceCheck } from './workspace.ts';

/** Whose machine it is. */
export interface OperatorPlaces {
  readonly path: string;
  readonly home: string;
  readonly palyraHome: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface SurveyDeps {
  readonly launcher: LauncherFacts;
  readonly operator: OperatorPlaces;
  readonly cgroups: CgroupDriver;
  readonly files: SurveyFiles;
  readonly directories: DirectoryFiles;
  readonly now: () => number;
}

export type SurveyOutcome = { readonly kind: 'surveyed'; readonly survey: HostSurvey } | Refusal;

export interface HostSurveyor {
  survey(command: SandboxCommand, profile: SandboxProfile): SurveyOutcome;
}

type SoundWorkspace = Extract<WorkspaceCheck, { kind: 'ok' }>;

/** Looks things up on the host; what seldom changes is looked up once. */
export function createSurveyor(deps: SurveyDeps): HostSurveyor {
  const { files, launcher, cgroups } = deps;
  const ceilings = launcher.uid === 0 ? {} : ownCeilings(files);
  const hasSysrq = files.stat('/proc/sysrq-trigger') !== undefined;
  const layout = { roots: systemRoots(files), files: systemFiles(files) };
  const identities = new Map<number, IdentityChoice>();
  const toolchainsOf = rememberToolchains(deps);
  const landlock = rememberLandlock(deps);
  const workspaceAt = rememberWorkspaces(deps);
  let jobs = 0;

  const identityFor = ({ owner }: SoundWorkspace): IdentityChoice => {
    const known = identities.get(owner.uid);
    if (known !== undefined) return known;
    const choice = chooseIdentity({ launcherUid: launcher.uid, workspaceOwner: owner, ...accountFacts(files) });
    identities.set(owner.uid, choice);
    return choice;
  };

  return {
    survey(command, profile) {
      const workspace = workspaceAt(profile.workspace.root);
      if (workspace.kind === 'refused') return { ...workspace };
      const choice = identityFor(workspace);
      if (choice.kind === 'refused') return refused('sandbox.unsafe_identity', choice.reason, choice.fix);
      const identity = choice.kind === 'own' ? undefined : { uid: choice.uid, gid: choice.gid };

      const toolchains = profile.toolchains === 'none' ? systemOnly(layout.roots) : toolchainsOf(workspace.root);
      const cwd = command.cwd ?? workspace.root;
      const [name = ''] = command.argv;
      const program = findProgram({ name, path: toolchains.path, cwd, files });
      if (program === undefined) {
        return refused(
          'sandbox.executable_not_found',
          `There is no program ${name} on the tool's PATH.`,
          NOT_FOUND_FIX,
        );
      }
      jobs += 1;
      const jobName = jobNameOf({
        launcherPid: launcher.pid,
        launcherStartTicks: launcher.startTicks,
        job: String(jobs),
      });
      const planned = planCgroups(cgroups, { jobName, limits: profile.limits, mustHold: profile.mustHold });
      if (planned.kind === 'unsupported') return refused('sandbox.unsupported', planned.reason, planned.fix);

      const binds = [...profile.readOnlyPaths, ...profile.writablePaths, ...toolchains.readOnly];
      const missing = [...profile.readOnlyPaths, ...profile.writablePaths].find(
        (path) => files.stat(path) === undefined,
      );
      if (missing !== undefined)
        return refused('sandbox.invalid_profile', 'A path of the profile is not there.', MISSING_FIX);
      // Looked for each time: a credential may have been written since the tools were found.
      const credentials = credentialsIn(toolchains.readOnly, files);
      const masked = existing([...profile.maskedPaths, ...credentials], files);
      const isAgents = profile.startedFor === 'agent';
      // SECURITY: T-40 — with one uid for everybody and nothing to hold it back, a tool reads keys and kills palyrad.
      if (profile.tier === 'B' && isAgents && identity === undefined && launcher.landlockVersion < SIGNAL_SCOPE) {
        return refused(
          'sandbox.unsupported',
          NO_LANDLOCK,
          'Use Tier C, or run palyrad as a service with its own user.',
        );
      }
      const hidden = outOfReach([workspace.root, ...workspace.gitDirectories, ...binds], identity, files);
      if (profile.tier === 'B' && hidden.has(workspace.root))
        return refused('sandbox.unsupported', HIDDEN_WORKSPACE, HIDDEN_FIX);
      return {
        kind: 'surveyed',
        survey: {
          arch: process.arch === 'arm64' ? 'arm64' : 'x86_64',
          identity,
          idmapWorkspace: choice.kind === 'unused',
          workspace: { root: workspace.root, gitDirectories: workspace.gitDirectories },
          systemRoots: layout.roots,
          hasSysrq,
          systemFiles: layout.files,
          toolchains,
          masked,
          outOfReach: hidden,
          program,
          cgroups: { plans: planned.cgroups, facts: planned.facts, cpuCounter: planned.cpuCounter },
          landlock: profile.tier === 'B' ? landlock(profile, workspace.root) : undefined,
          tasksOnHost: profile.tier === 'B' ? tasksOnHost() : 0,
          ceilings,
        },
      };
    },
  };
}

/** The first version of Landlock that keeps signals in. */
const SIGNAL_SCOPE = 6;
const NO_LANDLOCK = 'Without Landlock a Tier B tool with the operator’s uid could reach palyrad itself.';
const HIDDEN_WORKSPACE = 'The workspace lies in a directory that only root may enter, and a Tier B tool is not root.';
const HIDDEN_FIX = 'Use Tier C, which hands it over, or move the workspace.';
const NOT_FOUND_FIX = 'Install it where the operator finds it too, or give its path.';
const MISSING_FIX = 'Make it first, or take it out of the profile.';

/** How long an answer about a workspace counts, as long as the directory itself is the same one. */
const WORKSPACE_MS = 1000;

/** Agents call many times a second, and the answer takes longer than the rest of a plan. */
function rememberWorkspaces({ operator, files, directories, now }: SurveyDeps): (root: string) => WorkspaceCheck {
  const known = new Map<string, { readonly check: SoundWorkspace; readonly stamp: string; readonly at: number }>();
  return (root) => {
    const before = known.get(root);
    // SECURITY: T-14 — a directory that was swapped for another, or for a link, is looked at again.
    if (
      before !== undefined &&
      now() - before.at < WORKSPACE_MS &&
      directories.identity(before.check.root) === before.stamp
    ) {
      return before.check;
    }
    const check = checkWorkspace({ ...operator, root, files });
    const stamp = check.kind === 'ok' ? directories.identity(check.root) : undefined;
    if (check.kind === 'ok' && stamp !== undefined) known.set(root, { check, stamp, at: now() });
    else known.delete(root);
    return check;
  };
}

function rememberToolchains({ operator, files, launcher }: SurveyDeps): (workspace: string) => Toolchains {
  const known = new Map<string, Toolchains>();
  return (workspace) => {
    const found =
      known.get(workspace) ??
      findToolchains({ ...operator, workspace, operator: { uid: launcher.uid, gid: launcher.gid }, files });
    known.set(workspace, found);
    return found;
  };
}

function rememberLandlock({ operator, files, directories, launcher }: SurveyDeps) {
  const known = new Map<string, LandlockPlan>();
  return ({ workspace: { access }, maskedPaths }: SandboxProfile, root: string): LandlockPlan | undefined => {
    if (launcher.landlockVersion === 0) return undefined;
    const key = [access, root, ...maskedPaths].join('\0');
    const before = known.get(key);
    if (before !== undefined && isFresh(before, directories)) return before;
    // SECURITY: T-40 — our own state and the operator's credentials, by where they really are.
    const hidden = [
      operator.palyraHome,
      ...CREDENTIAL_PATHS.map((path) => `${operator.home}/${path}`),
      ...maskedPaths,
    ].map((path) => resolvePath(files, path));
    // SECURITY: T-40 — settings of other processes (oom_score_adj) are files in /proc.
    const readOnly = ['/proc', ...(access === 'read-only' ? [root] : [])];
    const plan = landlockRules({ hidden, readOnly, needed: [root] }, directories);
    known.set(key, plan);
    return plan;
  };
}

function systemOnly(roots: readonly SystemRoot[]): Toolchains {
  const path = roots
    .filter(({ kind }) => kind === 'directory')
    .flatMap((root) => (root.path === '/usr' ? ['/usr/local/bin', '/usr/bin'] : []))
    .concat('/bin');
  return { path: path.join(':'), readOnly: [], masked: [], environment: {}, remarks: [] };
}

function existing(paths: readonly string[], files: SurveyFiles): readonly MaskedPath[] {
  return paths.flatMap((path): MaskedPath[] => {
    const kind = files.stat(path)?.kind;
    if (kind === undefined) return [];
    return [{ path, kind: kind === 'directory' ? 'directory' : 'file' }];
  });
}

function accountFacts(files: SurveyFiles) {
  const text = (path: string) => files.readText(path) ?? '';
  return {
    passwd: text('/etc/passwd'),
    group: text('/etc/group'),
    subuid: text('/etc/subuid'),
    subgid: text('/etc/subgid'),
    processUids: files
      .list('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => files.stat(`/proc/${pid}`)?.uid ?? []),
  };
}

/** Hard limits of this process; the launcher has the same. */
function ownCeilings(files: SurveyFiles): HostSurvey['ceilings'] {
  const limits = parseLimits(files.readText('/proc/self/limits') ?? '');
  const names: readonly RlimitName[] = ['cpu', 'as', 'nofile', 'fsize', 'nproc', 'core', 'data'];
  return Object.fromEntries(names.map((name) => [name, limits.get(name)?.hard ?? Infinity]));
}

/** The second number of `0.12 0.10 0.09 1/234 5678` is after the slash. */
function tasksOnHost(): number {
  const found = /\/(\d+)/.exec(readFileSync('/proc/loadavg', 'utf8'));
  return Number(found?.[1] ?? 0);
}

function refused(code: Refusal['code'], message: string, fix: string): Refusal {
  return { kind: 'refused', code, message, fix };
}
