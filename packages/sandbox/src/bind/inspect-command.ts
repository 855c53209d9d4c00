import { posix } from 'node:path';
import type { SandboxCommand } from '../command.ts';
import { environmentRunsCode } from '../guard/environment-code.ts';
import { namesOfSameFile } from '../guard/known-interpreters.ts';
import { programNames } from '../guard/program-names.ts';
import { resolvePath } from '../guard/resolve-path.ts';
import type { SandboxProfile } from '../profile.ts';
import type { Refusal } from '../run-result.ts';
import { type Binding, type BoundFile, bindingOf, type Unbound } from './binding.ts';
import { MOST_COPIED_BYTES } from './open-bound-file.ts';
import { refuseFile, refuseFirstLine, refuseNesting } from './refuse-binding.ts';
import { findScriptOperand } from './script-operand.ts';
import { envWords, readFirstLine } from './shebang-words.ts';
import { type TakeContext, type TakenFile, type Taking, takeFile } from './take-file.ts';

/** What a command would run: its binding, and how to start just that. */
export interface Inspection {
  readonly kind: 'inspected';
  readonly binding: Binding;
  readonly files: readonly TakenFile[];
  /** The program that the kernel starts, as the tool finds it, and its arguments. */
  readonly program: string;
  readonly argv: readonly string[];
}

export interface InspectRequest {
  readonly command: SandboxCommand;
  readonly profile: SandboxProfile;
}

/** Does not throw: what cannot be read is refused, or listed as not bound. */
export async function inspectCommand(request: InspectRequest, context: TakeContext): Promise<Inspection | Refusal> {
  const walk = createWalk(context);
  const program = await walk.take(context.survey.program, 'program');
  if (program.kind === 'not_taken') return refuseFile('program', program.why);

  const started = await followFirstLines(program.file, request, { walk, context });
  if (started.kind === 'refused') return started;
  const operand = started.isScript ? NO_OPERAND : await bindOperand(program.file, request, { walk, context });
  if (operand.kind === 'refused') return operand;

  const files = walk.files();
  const unbound = [...started.unbound, ...operand.unbound, ...neverBound(files, request)];
  const bound = files.map(({ path, role, sha256, bytes, how }) => ({ path, role, sha256, bytes, how }));
  const argv = operand.argv ?? started.argv;
  return { kind: 'inspected', binding: bindingOf(bound, unbound), files, program: started.program, argv };
}

interface Walk {
  take(path: string, role: BoundFile['role']): Promise<Taking>;
  files(): readonly TakenFile[];
}

interface Surroundings {
  readonly walk: Walk;
  readonly context: TakeContext;
}

function createWalk(context: TakeContext): Walk {
  const taken: TakenFile[] = [];
  return {
    files: () => taken,
    async take(path, role) {
      const copies = taken.filter(({ how }) => how === 'copied');
      const most = MOST_COPIED_BYTES - copies.reduce((sum, { bytes }) => sum + bytes, 0);
      const taking = await takeFile({ path, role, copied: copies.length, most }, context);
      if (taking.kind === 'taken') taken.push(taking.file);
      return taking;
    },
  };
}

interface Started {
  readonly kind: 'started';
  readonly isScript: boolean;
  readonly program: string;
  readonly argv: readonly string[];
  readonly unbound: readonly Unbound[];
}

/** As deep as Linux goes. */
const DEEPEST = 5;

/** As the kernel and `env` do it, but by the files that were taken: a name is looked up here and never again. */
async function followFirstLines(
  first: TakenFile,
  { command, profile }: InspectRequest,
  { walk, context }: Surroundings,
): Promise<Started | Refusal> {
  const { cwd = profile.workspace.root } = command;
  let { argv } = command;
  let current = first;
  for (let depth = 0; depth < DEEPEST; depth += 1) {
    const line = readFirstLine(current.head);
    const isScript = current !== first;
    if (line.kind === 'odd') return refuseFirstLine();
    if (line.kind === 'native') return { kind: 'started', isScript, program: current.runAt, argv, unbound: [] };

    const named = absolute(line.interpreter, cwd);
    const interpreter = await walk.take(named, 'interpreter');
    if (interpreter.kind === 'not_taken') return refuseFile('interpreter', interpreter.why);
    const rest = [current.runAt, ...argv.slice(1)];
    argv = [line.interpreter, ...(line.argument === undefined ? [] : [line.argument]), ...rest];
    current = interpreter.file;
    // An env of the agent's own is a program like any other.
    if (posix.basename(current.called) !== 'env' || current.how === 'copied') continue;

    const words = envWords(line.argument);
    const program = words === undefined ? undefined : lookUp(words[0] ?? '', cwd, context);
    if (words === undefined || program === undefined) {
      return { kind: 'started', isScript: true, program: current.runAt, argv, unbound: [FOUND_BY_ENV] };
    }
    const inner = await walk.take(program, 'interpreter');
    if (inner.kind === 'not_taken') return refuseFile('interpreter', inner.why);
    argv = [...words, ...rest];
    current = inner.file;
  }
  return refuseNesting();
}

const FOUND_BY_ENV: Unbound = { what: 'children', why: 'The program that env looks up for the script is not bound.' };

function lookUp(name: string, cwd: string, { programs, files }: TakeContext): string | undefined {
  if (name.includes('/')) return absolute(name, cwd);
  return programs.searchPath
    .map((directory) => posix.join(directory, name))
    .find((path) => {
      const facts = files.stat(path);
      return facts?.kind === 'file' && (facts.mode & 0o111) !== 0 && resolvePath(path, programs).kind === 'found';
    });
}

function absolute(path: string, cwd: string): string {
  return path.startsWith('/') ? path : `${cwd}/${path}`;
}

interface Operand {
  readonly kind: 'operand';
  readonly argv: readonly string[] | undefined;
  readonly unbound: readonly Unbound[];
}

const NO_OPERAND: Operand = { kind: 'operand', argv: undefined, unbound: [] };

/** `bash x.sh`, `python3 x.py`, `node x.js`: the argument becomes the path of what was taken. */
async function bindOperand(
  program: TakenFile,
  { command, profile }: InspectRequest,
  { walk, context }: Surroundings,
): Promise<Operand | Refusal> {
  const { argv, cwd = profile.workspace.root } = command;
  const found = findScriptOperand(namesOf(program, command, context), argv);
  if (found.kind === 'none') return NO_OPERAND;
  if (found.kind === 'unknown') return leftOpen(found.why);

  const name = argv[found.index] ?? '';
  const taking = await walk.take(absolute(name, cwd), 'script');
  if (taking.kind === 'not_taken') {
    // A program may look for it under other names, or fail: either way nothing is claimed.
    if (taking.why === 'absent' || taking.why === 'unreadable') return leftOpen(NO_SUCH_SCRIPT);
    return refuseFile('script', taking.why);
  }
  return { kind: 'operand', argv: argv.with(found.index, taking.file.runAt), unbound: [] };
}

const NO_SUCH_SCRIPT = 'The script is not bound: there is no file of exactly that name that the tool could read.';

function leftOpen(why: string): Operand {
  return { kind: 'operand', argv: undefined, unbound: [{ what: 'operand', why }] };
}

/** SECURITY: T-13 — all that it is known by: as called, each link, the file, and the interpreter that it is a copy of. */
function namesOf(
  { called, links, path, stamp }: TakenFile,
  { argv }: SandboxCommand,
  { programs }: TakeContext,
): readonly string[] {
  const names = [argv[0] ?? '', called, ...links, path].flatMap(programNames);
  return [...new Set([...names, ...namesOfSameFile({ path, look: stamp }, programs)])];
}

/** Said of every command, so that nobody takes the list of files for all that runs. */
function neverBound(files: readonly TakenFile[], { command, profile }: InspectRequest): readonly Unbound[] {
  const isScript = files.some(({ role }) => role !== 'program');
  const { environment = {} } = command;
  const naming = profile.environment.filter((name) => Object.hasOwn(environment, name) && environmentRunsCode(name));
  return [
    ...(isScript ? [IMPORTS] : []),
    { what: 'libraries', why: 'Dynamic libraries, and the loader that loads them.' },
    { what: 'children', why: 'Programs that it starts.' },
    { what: 'settings', why: 'Configuration, plug-ins and data that it reads.' },
    ...naming.map((name): Unbound => ({ what: 'environment', why: `The variable ${name} may name code.` })),
  ];
}

const IMPORTS: Unbound = {
  what: 'imports',
  why: 'Modules and files that the script loads, its neighbours among them.',
};
