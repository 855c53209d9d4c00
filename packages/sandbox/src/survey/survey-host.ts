import { join } from 'node:path';
import { BOX_USER } from '../backends/bubblewrap/box-files.ts';
import { ownPidNamespace } from '../cgroup/cgroup-files.ts';
import type { CgroupDriver } from '../cgroup/detect-cgroups.ts';
import { jobIn, jobNameOf } from '../cgroup/job-name.ts';
import { planCgroups } from '../cgroup/plan-cgroups.ts';
import type { SandboxCommand } from '../command.ts';
import { parseLimits } from '../facts/parse-proc.ts';
import type { RlimitName } from '../launch-plan.ts';
import type { LauncherFacts } from '../launcher/start-launcher.ts';
import type { SandboxProfile } from '../profile.ts';
import type { Refusal } from '../run-result.ts';
import { findProgram } from './find-program.ts';
import { createHostMounts } from './host-mounts.ts';
import type { HostSurvey, SystemRoot } from './host-survey.ts';
import type { DirectoryFiles } from './landlock-rules.ts';
import { outOfReach, withinReach } from './out-of-reach.ts';
import { surveyHome } from './private-home.ts';
import { resolveProfilePaths } from './profile-paths.ts';
import { refuseTierB } from './refuse-tier-b.ts';
import { rememberIdentities, rememberLandlock, rememberSurroundings, rememberWorkspaces } from './remembered.ts';
import type { SurveyFiles } from './survey-files.ts';
import { systemFiles, systemRoots } from './system-layout.ts';
import { createTaskRoom } from './task-room.ts';
import { powerfulGroups } from './tool-identity.ts';
import { credentialsIn, type Toolchains } from './toolchains.ts';

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
  /** Of this process, and so of the launcher. */
  readonly groups: readonly number[];
}

export type SurveyOutcome = { readonly kind: 'surveyed'; readonly survey: HostSurvey } | Refusal;

export interface HostSurveyor {
  survey(command: SandboxCommand, profile: SandboxProfile): SurveyOutcome;
}

/** Looks things up on the host; what seldom changes is looked up once. */
export function createSurveyor(deps: SurveyDeps): HostSurveyor {
  const taskRoom = createTaskRoom();
  const { files, launcher, cgroups } = deps;
  const fixed = fixedFacts(deps);
  const workspaceAt = rememberWorkspaces(deps);
  const identityFor = rememberIdentities(deps);
  const surroundingsOf = rememberSurroundings(deps);
  const landlockFor = rememberLandlock(deps);
  const hostMountsIn = createHostMounts(files);
  const pidNamespace = ownPidNamespace();
  let jobs = 0;

  return {
    survey(command, profile) {
      const workspace = workspaceAt(profile.workspace.root);
      if (workspace.kind === 'refused') return workspace;
      const choice = identityFor(workspace, profile);
      if (choice.kind === 'refused') return refused('sandbox.unsafe_identity', choice.reason, choice.fix);
      const identity = choice.kind === 'own' ? undefined : { uid: choice.uid, gid: choice.gid };

      const { wall, ...around } = surroundingsOf(workspace.root);
      const all = profile.toolchains === 'none' ? systemOnly(fixed.systemRoots) : around.toolchains;
      const toolchains = profile.tier === 'B' ? withinReach(all, identity, files) : all;
      // Looked for each time: a credential may have been written since the tools were found.
      const credentials = credentialsIn(toolchains.readOnly, files);
      const paths = resolveProfilePaths({ profile, credentials, wall, files });
      if (paths.kind === 'refused') return paths;

      const [name = ''] = command.argv;
      const cwd = command.cwd ?? workspace.root;
      const program = findProgram({ name, path: toolchains.path, cwd, files });
      if (program === undefined) return notFound(name, toolchains.remarks, files);
      jobs += 1;
      const { pid: launcherPid, startTicks: launcherStartTicks } = launcher;
      const jobName = jobNameOf({ launcherPid, launcherStartTicks, job: jobIn(pidNamespace, jobs) });
      const planned = planCgroups(cgroups, { jobName, limits: profile.limits, mustHold: profile.mustHold });
      if (planned.kind === 'unsupported') return refused('sandbox.unsupported', planned.reason, planned.fix);

      const { root, gitDirectories } = workspace;
      const home = profile.home === undefined ? undefined : surveyHome({ home: profile.home, ...homesOf(deps) });
      const shown = [
        ...(home?.shown.map(({ source }) => source) ?? []),
        root,
        ...gitDirectories,
        ...paths.readOnly,
        ...paths.writable,
        ...toolchains.readOnly,
      ];
      const hidden = outOfReach(shown, identity, files);
      const hostMounts = profile.tier === 'B' ? [] : hostMountsIn({ system: systemPlaces(fixed), shown, wall });
      const landlock = profile.tier === 'B' ? landlockFor(profile, root, identity?.uid ?? launcher.uid) : undefined;
      const isWorkspaceHidden = hidden.has(root);
      const tierB = { profile, identity, launcher, landlock, isWorkspaceHidden, powerfulGroups: fixed.powerfulGroups };
      const refusal = profile.tier === 'B' ? refuseTierB(tierB) : undefined;
      if (refusal !== undefined) return refusal;
      return {
        kind: 'surveyed',
        survey: {
          ...fixed,
          systemFiles: fixed.systemFiles.filter(({ kind, path }) => kind === 'copy' || files.stat(path) !== undefined),
          identity,
          idmapWorkspace: choice.kind === 'unused',
          workspace: { root, gitDirectories },
          paths: { readOnly: paths.readOnly, writable: paths.writable },
          toolchains,
          masked: paths.masked,
          outOfReach: hidden,
          hostMounts,
          bound: [
            ...boundOf([root, ...gitDirectories, ...paths.readOnly, ...paths.writable], deps),
            ...(home?.shown ?? []).map(({ path, source }) => ({
              path: join(BOX_USER.home, path),
              identity: deps.directories.fileId(source) ?? 'gone',
            })),
          ],
          ...(home === undefined ? {} : { home }),
          program,
          cgroups: { plans: planned.cgroups, facts: planned.facts, cpuCounter: planned.cpuCounter },
          landlock,
          tasksOnHost: profile.tier === 'B' ? taskRoom() : 0,
        },
      };
    },
  };
}

/** The operator may well have it, in a directory that is not shown: then that is what must be mended. */
function notFound(name: string, leftOut: Toolchains['remarks'], files: SurveyFiles): Refusal {
  const hidden = leftOut.find(({ entry }) => findProgram({ name, path: entry, cwd: '/', files }) !== undefined);
  const message =
    hidden === undefined
      ? `There is no program ${name} on the tool's PATH.`
      : `A directory on the operator's PATH has ${name}, and is not shown to tools. ${hidden.reason}`;
  return refused('sandbox.executable_not_found', message, NOT_FOUND_FIX);
}

/** In the kernel's settings systemd mounts the names of formats of programs. */
function systemPlaces(fixed: Pick<HostSurvey, 'systemRoots' | 'systemFiles'>) {
  return ['/proc/sys', ...[...fixed.systemRoots, ...fixed.systemFiles].map(({ path }) => path)];
}

/** Where the operator's tools are is looked up once. */
const NOT_FOUND_FIX = 'Install it where the operator finds it too, then start palyrad anew, or give its path.';

function homesOf({ operator, files }: SurveyDeps) {
  return { operatorHome: operator.home, palyraHome: operator.palyraHome, files };
}

function boundOf(paths: readonly string[], { directories }: SurveyDeps): HostSurvey['bound'] {
  // What is gone by now is found to be missing inside, too.
  return [...new Set(paths)].map((path) => ({ path, identity: directories.fileId(path) ?? 'gone' }));
}

function fixedFacts({ files, launcher, groups }: SurveyDeps) {
  return {
    arch: process.arch === 'arm64' ? ('arm64' as const) : ('x86_64' as const),
    systemRoots: systemRoots(files),
    systemFiles: systemFiles(files),
    hasSysrq: files.stat('/proc/sysrq-trigger') !== undefined,
    ceilings: launcher.uid === 0 ? {} : ownCeilings(files),
    powerfulGroups: powerfulGroups(groups, files.readText('/etc/group') ?? ''),
  };
}

function systemOnly(roots: readonly SystemRoot[]): Toolchains {
  const isMerged = roots.some(({ kind, path }) => kind === 'directory' && path === '/usr');
  const path = [...(isMerged ? ['/usr/local/bin', '/usr/bin'] : []), '/bin'];
  return { path: path.join(':'), readOnly: [], masked: [], environment: {}, remarks: [] };
}

/** Hard limits of this process; the launcher has the same. */
function ownCeilings(files: SurveyFiles): HostSurvey['ceilings'] {
  const limits = parseLimits(files.readText('/proc/self/limits') ?? '');
  const names: readonly RlimitName[] = ['cpu', 'as', 'nofile', 'fsize', 'nproc', 'core', 'data'];
  return Object.fromEntries(names.map((name) => [name, limits.get(name)?.hard ?? Infinity]));
}

function refused(code: Refusal['code'], message: string, fix: string): Refusal {
  return { kind: 'refused', code, message, fix };
}
