import { basename, isAbsolute, join, normalize } from 'node:path';
import { CREDENTIALS_IN_TOOLCHAINS } from './credential-paths.ts';
import { atHome, knownToolchainOf } from './known-toolchains.ts';
import { type MountWall, mountWall } from './mount-walls.ts';
import { isAtOrBelow, resolvePath, type SurveyFiles } from './survey-files.ts';
import { isWritableByOthers, type Operator } from './writable-by-others.ts';

/** The operator's tools as a sandboxed tool may see them. Every path is resolved. */
export interface Toolchains {
  /** PATH for the tool, in the operator's order. */
  readonly path: string;
  /** Directories, and single files where more would show too much; none lies in another. */
  readonly readOnly: readonly string[];
  /** Credential files inside them. */
  readonly masked: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** What was left out, and why. */
  readonly remarks: readonly { readonly entry: string; readonly reason: string }[];
}

export interface ToolchainQuestion {
  /** The operator's PATH. */
  readonly path: string;
  readonly home: string;
  readonly palyraHome: string;
  readonly workspace: string;
  readonly operator: Operator;
  /** The operator's variables; only places of tools are taken from them. */
  readonly environment: Readonly<Record<string, string>>;
  readonly files: SurveyFiles;
}

/** Mounted in every sandbox. */
const SYSTEM_DIRECTORIES = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const PROGRAM_DIRECTORIES = ['bin', 'sbin', 'shims', 'libexec', 'scripts'];
const PLACE_VARIABLES = ['GOROOT', 'JAVA_HOME', 'RUSTUP_HOME', 'PYENV_ROOT', 'DOTNET_ROOT', 'VOLTA_HOME', 'RBENV_ROOT'];
/** More than any directory of programs has; each costs a look at the disk. */
const MOST_NAMES = 4096;
/** Each is a mount of its own. */
const MOST_SINGLE_FILES = 64;

// SECURITY: T-19 — this is the only place that shows a tool anything of the operator's home: places of known tool managers,
// directories of programs that are on PATH, and single files that these point to. Whatever is in doubt is left out.
export function findToolchains(question: ToolchainQuestion): Toolchains {
  const survey: Survey = {
    ...question,
    realHome: resolvePath(question.files, question.home),
    realWorkspace: resolvePath(question.files, question.workspace),
    wall: mountWall(question),
  };
  const entries = new Set(question.path.split(':').filter(isAbsolute).map(plain));
  const answers = [...entries].map((entry) => ({ entry, answer: surveyEntry(entry, survey) }));

  const taken = answers.flatMap(({ answer }) => (answer.kind === 'taken' ? [answer] : []));
  const readOnly = withoutNested(taken.flatMap(({ roots }) => roots));
  return {
    path: [...new Set(taken.map(({ path }) => path))].join(':'),
    readOnly,
    masked: credentialsIn(readOnly, question.files),
    environment: placesOf(readOnly, survey),
    remarks: answers.flatMap(({ entry, answer }) =>
      answer.kind === 'left_out' ? [{ entry, reason: answer.reason }] : [],
    ),
  };
}

interface Survey extends ToolchainQuestion {
  readonly realHome: string;
  readonly realWorkspace: string;
  readonly wall: MountWall;
}

type EntryAnswer =
  | { readonly kind: 'taken'; readonly path: string; readonly roots: readonly string[] }
  | { readonly kind: 'left_out'; readonly reason: string }
  | { readonly kind: 'missing' };

function surveyEntry(entry: string, survey: Survey): EntryAnswer {
  const { files, realWorkspace, workspace, wall } = survey;
  const real = files.realPath(entry);
  if (real === undefined || files.stat(real)?.kind !== 'directory') return { kind: 'missing' };
  // SECURITY: T-14 — the agent writes the workspace: a program found there by name would be the agent's.
  if ([entry, real].some((each) => isAtOrBelow(each, workspace) || isAtOrBelow(each, realWorkspace))) {
    return leftOut('It lies in the workspace.');
  }
  if (isWritableByOthers(real, ownership(real, survey))) return leftOut('Others can write there.');
  if (real.includes(':')) return leftOut('Its name cannot be in PATH.');
  if (isSystem(real)) return { kind: 'taken', path: isSystem(entry) ? entry : real, roots: [] };

  const reason = wall(real);
  if (reason !== undefined) return leftOut(reason);
  const own = toolchainRoots(real, survey) ?? programsOf(real, survey);
  if (own.length === 0) return leftOut('It is no directory of programs.');
  return { kind: 'taken', path: real, roots: [...own, ...linkedRoots(real, own, survey)] };
}

/** The whole of a known toolchain, or undefined where there is none or it would show too much. */
function toolchainRoots(path: string, survey: Survey): readonly string[] | undefined {
  const found = knownToolchainOf(path, survey.realHome);
  if (found === undefined) return undefined;
  const { toolchain, directory } = found;
  const parts = toolchain.parts?.map((part) => join(directory, part)) ?? [directory];
  const others = toolchain.with?.map((other) => atHome(other, survey.realHome)) ?? [];
  const roots = [...parts, ...others].flatMap((each) => survey.files.realPath(each) ?? []);
  if (!roots.every((root) => isShowable(root, survey))) return undefined;
  return [...roots, ...roots.flatMap((root) => pythonOf(root, survey))];
}

/** A virtual environment is nothing without the Python that it was made from. */
function pythonOf(root: string, survey: Survey): readonly string[] {
  if (survey.files.stat(join(root, 'pyvenv.cfg')) === undefined) return [];
  const python = survey.files.realPath(join(root, 'bin/python'));
  if (python === undefined || isSystem(python) || isAtOrBelow(python, root)) return [];
  return targetRoots(python, survey);
}

/** A directory of unknown purpose may hold anything beside its programs: then it is only those, one by one. */
function programsOf(directory: string, survey: Survey): readonly string[] {
  if (PROGRAM_DIRECTORIES.includes(basename(directory))) return [directory];
  const { files } = survey;
  const programs = files
    .list(directory)
    .slice(0, MOST_NAMES)
    .map((name) => join(directory, name))
    .filter((path) => isProgram(files.lstat(path)) && isShowable(path, survey));
  return programs.length > MOST_SINGLE_FILES ? [] : programs;
}

/** What links in a directory of programs lead to, as pipx, uv, ghcup and others make them. */
function linkedRoots(directory: string, own: readonly string[], survey: Survey): readonly string[] {
  const { files, realWorkspace } = survey;
  const isSeen = (path: string) =>
    isSystem(path) || isAtOrBelow(path, realWorkspace) || own.some((root) => isAtOrBelow(path, root));
  const targets = files
    .list(directory)
    .slice(0, MOST_NAMES)
    .filter((name) => files.lstat(join(directory, name))?.kind === 'link')
    .flatMap((name) => files.realPath(join(directory, name)) ?? [])
    .filter((target) => !isSeen(target));
  return [...new Set(targets)].slice(0, MOST_SINGLE_FILES).flatMap((target) => targetRoots(target, survey));
}

function targetRoots(target: string, survey: Survey): readonly string[] {
  const whole = toolchainRoots(target, survey);
  if (whole !== undefined) return whole;
  // SECURITY: T-19 — a link can lead anywhere, into a project with its secrets as well: only the program itself.
  return isProgram(survey.files.stat(target)) && isShowable(target, survey) ? [target] : [];
}

function isShowable(path: string, survey: Survey): boolean {
  return survey.wall(path) === undefined && !isWritableByOthers(path, ownership(path, survey));
}

function isProgram(facts: ReturnType<SurveyFiles['stat']>): boolean {
  return facts?.kind === 'file' && (facts.mode & 0o111) !== 0;
}

function ownership(path: string, { operator, files, realHome }: Survey) {
  const isShared = knownToolchainOf(path, realHome)?.toolchain.shared ?? false;
  return { operator, files, anyOwner: isShared || isSystem(path) };
}

/** Those that are there now. */
export function credentialsIn(roots: readonly string[], files: SurveyFiles): readonly string[] {
  const found = roots
    .flatMap((root) => CREDENTIALS_IN_TOOLCHAINS.flatMap((pattern) => expand(root, pattern.split('/'), files)))
    .flatMap((path) => files.realPath(path) ?? [])
    // Elsewhere it is not shown in the first place.
    .filter((path) => roots.some((root) => isAtOrBelow(path, root)));
  return [...new Set(found)].toSorted();
}

function expand(directory: string, [first, ...rest]: readonly string[], files: SurveyFiles): readonly string[] {
  if (first === undefined) return [directory];
  const names = first === '*' ? files.list(directory).slice(0, MOST_NAMES) : [first];
  const found = names.map((name) => join(directory, name)).filter((path) => files.lstat(path) !== undefined);
  return found.flatMap((path) => expand(path, rest, files));
}

function placesOf(roots: readonly string[], { environment, files, realHome }: Survey): Record<string, string> {
  const places: Record<string, string> = {};
  for (const root of roots) {
    const known = knownToolchainOf(root, realHome);
    if (known?.toolchain.variable !== undefined) places[known.toolchain.variable] = known.directory;
  }
  for (const name of PLACE_VARIABLES) {
    const said = environment[name] ?? '';
    const place = isAbsolute(said) ? files.realPath(said) : undefined;
    if (place !== undefined && [...roots, ...SYSTEM_DIRECTORIES].some((root) => isAtOrBelow(place, root))) {
      places[name] = place;
    }
  }
  return places;
}

function withoutNested(roots: readonly string[]): readonly string[] {
  const all = [...new Set(roots)].toSorted();
  return all.filter((root) => !all.some((other) => other !== root && isAtOrBelow(root, other)));
}

function isSystem(path: string): boolean {
  return SYSTEM_DIRECTORIES.some((directory) => isAtOrBelow(path, directory));
}

function plain(path: string): string {
  const normal = normalize(path);
  return normal.length > 1 ? normal.replace(/\/+$/, '') : normal;
}

function leftOut(reason: string): EntryAnswer {
  return { kind: 'left_out', reason };
}
