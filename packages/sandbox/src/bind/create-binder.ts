import type { SandboxCommand } from '../command.ts';
import { type ProgramFiles, stampKey } from '../guard/program-files.ts';
import type { LauncherFacts } from '../launcher/start-launcher.ts';
import type { SandboxProfile } from '../profile.ts';
import type { Refusal } from '../run-result.ts';
import type { HostSurvey } from '../survey/host-survey.ts';
import type { SurveyFiles } from '../survey/survey-files.ts';
import type { Binding } from './binding.ts';
import { type Inspection, inspectCommand } from './inspect-command.ts';
import { createBoundFileReader } from './open-bound-file.ts';
import { type PlacedFiles, placeFiles } from './placed-files.ts';
import { asChanged, changedSinceApproved, refuseChanged } from './refuse-binding.ts';
import type { TakeContext } from './take-file.ts';
import { writableRoots } from './visible-places.ts';

/** One command as it was planned. */
export interface PlannedCommand {
  readonly command: SandboxCommand;
  readonly profile: SandboxProfile;
  readonly survey: HostSurvey;
}

export type Prepared =
  | {
      readonly kind: 'prepared';
      readonly binding: Binding;
      /** Runs what was bound, and nothing that is found by a name. */
      readonly planned: PlannedCommand & { readonly survey: { readonly placed: PlacedFiles } };
      /** Immediately before the start: what runs in its place is still the same. Undefined when it is. */
      readonly recheck: () => Refusal | undefined;
    }
  | Refusal;

export interface Binder {
  /** To be told of every plan: where a tool may write, nothing is run in its place any more. */
  note(survey: HostSurvey): void;
  bind(planned: PlannedCommand): Promise<Binding | Refusal>;
  /** Takes the bytes, and refuses when they are not those of the binding. Does not throw. */
  prepare(planned: PlannedCommand, approved: Binding): Promise<Prepared>;
}

export interface BinderDeps {
  readonly launcher: Pick<LauncherFacts, 'uid' | 'gid'>;
  readonly groups: readonly number[];
  readonly files: SurveyFiles;
  /** For a search path. */
  readonly programsOn: (path: string) => ProgramFiles;
}

export function createBinder({ launcher, groups, files, programsOn }: BinderDeps): Binder {
  const reader = createBoundFileReader();
  const writable = new Set<string>();

  const contextOf = ({ profile, survey }: PlannedCommand): TakeContext => ({
    profile,
    survey,
    rights: survey.identity === undefined ? { ...launcher, groups } : { ...survey.identity, groups: [] },
    writable,
    programs: programsOn(survey.toolchains.path),
    files,
    reader,
  });
  const note = (survey: HostSurvey) => {
    for (const root of writableRoots(survey)) writable.add(root);
  };
  return {
    note,
    async bind(planned) {
      note(planned.survey);
      const inspected = await inspectCommand(planned, contextOf(planned));
      return inspected.kind === 'refused' ? inspected : inspected.binding;
    },
    async prepare(planned, approved) {
      note(planned.survey);
      const context = contextOf(planned);
      const inspected = await inspectCommand(planned, context);
      if (inspected.kind === 'refused') return asChanged(inspected);
      // SECURITY: T-04 — the digest that was approved against that of the bytes which are in our hands now.
      if (inspected.binding.digest !== approved.digest) return refuseChanged(approved, inspected.binding);
      return {
        kind: 'prepared',
        binding: inspected.binding,
        planned: rewritten(planned, inspected, context),
        recheck: () => recheck(inspected, context),
      };
    },
  };
}

function rewritten({ command, profile, survey }: PlannedCommand, inspected: Inspection, context: TakeContext) {
  const { argv, program, files } = inspected;
  return {
    command: { ...command, argv },
    profile,
    survey: { ...survey, program, placed: placeFiles(files, context) },
  };
}

/** SECURITY: T-04 — the change time is in it, which nobody can set back. */
function recheck({ files }: Inspection, { programs }: TakeContext): Refusal | undefined {
  const isSame = files.every(({ how, path, stamp }) => {
    const look = how === 'copied' ? undefined : programs.look(path);
    return look === undefined || (look.kind === 'file' && stampKey(look) === stampKey(stamp));
  });
  return isSame ? undefined : changedSinceApproved('A program changed while the command was started.');
}
