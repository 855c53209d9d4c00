import { posix } from 'node:path';
import type { SandboxCommand } from '../command.ts';
import type { SandboxProfile } from '../profile.ts';
import { argumentProfile } from './argument-profiles.ts';
import { programOfGitConfig } from './git-programs.ts';
import { type IdentifiedProgram, identifyProgram, type UnidentifiedProgram } from './identify-program.ts';
import { type RunsCode, runsCode } from './interpreter-guard.ts';
import { createPathScope, type PathScope, refuseArgument, refusePath } from './path-arguments.ts';
import { type ArgumentRefusal, OUTSIDE_FIX, refuseProfiledArguments } from './profiled-arguments.ts';
import { type ProgramFiles, rememberLooks } from './program-files.ts';
import { isWithin, resolvePath } from './resolve-path.ts';

export interface CommandCheckRequest {
  readonly command: SandboxCommand;
  readonly profile: SandboxProfile;
  /** Absolute, where `command.argv[0]` was found; links not yet followed. */
  readonly programPath: string;
  /** With the tool's search path. */
  readonly files: ProgramFiles;
  /** Directories of the operator's tools that arguments may name. */
  readonly toolchainPaths?: readonly string[];
}

export type CommandCheck = { readonly kind: 'ok'; readonly identity: IdentifiedProgram } | RefusedCommand;

export interface RefusedCommand {
  readonly kind: 'refused';
  readonly code:
    | 'sandbox.interpreter_refused'
    | 'sandbox.argument_refused'
    | 'sandbox.executable_not_allowed'
    | 'sandbox.executable_not_found';
  readonly message: string;
  readonly fix: string;
}

/**
 * The static checks of a command line. A guardrail and no wall: they look at names, first bytes and arguments, and a
 * program may still do what none of these shows. In Tier C the kernel is the wall, and paths are left to it.
 */
export function checkCommand(asked: CommandCheckRequest): CommandCheck {
  const request = { ...asked, files: rememberLooks(asked.files) };
  const located = resolvePath(request.programPath, request.files);
  const path = located.kind === 'found' ? located.path : undefined;
  // Before the file is looked into: an agent shall not have us read its largest files for a refusal.
  const misplaced = path === undefined ? undefined : (refuseExecutable(request, path) ?? refusePlace(request, path));
  if (misplaced !== undefined) return misplaced;

  const identity = identifyProgram(request.programPath, request.files);
  if (identity.kind === 'unidentified') return unidentified(identity);

  const refused =
    refuseInterpreter(request, identity) ??
    (request.profile.tier === 'B' ? refuseArguments(request, identity) : undefined);
  return refused ?? { kind: 'ok', identity };
}

function refuseExecutable(request: CommandCheckRequest, path: string): RefusedCommand | undefined {
  const { profile, command } = request;
  if (profile.executables === 'any' || listed(request, path) !== undefined) return undefined;
  return {
    kind: 'refused',
    code: 'sandbox.executable_not_allowed',
    message: `The profile does not allow ${quoted(command.argv[0] ?? '')}.`,
    fix: 'Use a program that is listed in executables of the profile, or list it there by its absolute path.',
  };
}

/** How the operator's list names the program; undefined when it does not. */
function listed({ profile, programPath, files }: CommandCheckRequest, path: string): 'name' | 'path' | undefined {
  if (profile.executables === 'any') return undefined;
  const name = posix.basename(programPath);
  const isListedPath = (entry: string) =>
    entry.startsWith('/') && posix.basename(entry) === name && leadsTo(entry, path, files);
  if (profile.executables.some(isListedPath)) return 'path';

  // SECURITY: T-13 — a name means the program on the PATH, not a file of that name which the agent has put somewhere.
  const onPath = files.searchPath.includes(posix.dirname(programPath));
  const ours = onPath && !isAgentWritable(path, profile, files) && !isAgentWritable(programPath, profile, files);
  return ours && profile.executables.includes(name) ? 'name' : undefined;
}

function leadsTo(path: string, target: string, files: ProgramFiles): boolean {
  const resolved = resolvePath(path, files);
  return resolved.kind === 'found' && resolved.path === target;
}

function refusePlace(request: CommandCheckRequest, path: string): RefusedCommand | undefined {
  const { profile, programPath, files } = request;
  if (profile.interpreters === 'allowed' || listed(request, path) === 'path') return undefined;
  // SECURITY: T-13 — a program where the agent writes is code brought along, whatever it is; only its own path in the
  // operator's list says otherwise.
  const brought = [programPath, path].some((place) => isAgentWritable(place, profile, files));
  return brought ? interpreterRefused('the program lies where the agent may write') : undefined;
}

function unidentified({ reason }: UnidentifiedProgram): RefusedCommand {
  if (reason === 'absent') {
    return {
      kind: 'refused',
      code: 'sandbox.executable_not_found',
      message: 'There is no such program, or not the one that its first line names.',
      fix: 'Name a program that exists; a carriage return at the end of its first line is part of that name.',
    };
  }
  return {
    kind: 'refused',
    code: 'sandbox.executable_not_allowed',
    message: `What this program is cannot be told: ${reason.replaceAll('_', ' ')}.`,
    fix: 'Name a program that exists, can be read and is native or begins with #! and an absolute path.',
  };
}

function refuseInterpreter(request: CommandCheckRequest, identity: IdentifiedProgram): RefusedCommand | undefined {
  const { profile, command, files } = request;
  if (profile.interpreters === 'allowed') return undefined;

  const found = runsCode(identity, command.argv);
  if (found !== undefined) return interpreterRefused(describe(found));
  const configured = identity.names.includes('git') ? programOfGit(request) : undefined;
  if (configured !== undefined)
    return interpreterRefused(`the repository's configuration has git start it (${configured})`);
  if (identity.form.kind === 'native') return undefined;
  if (identity.form.kind === 'text') return interpreterRefused('the file is text that only a shell would run');
  if (identity.form.chain.some((path) => isAgentWritable(path, profile, files))) {
    return interpreterRefused("the script's interpreter lies where the agent may write");
  }
  return listed(request, identity.path) === undefined ? interpreterRefused('the program is a script') : undefined;
}

function programOfGit({ command, profile, files }: CommandCheckRequest): string | undefined {
  const { root } = profile.workspace;
  return programOfGitConfig({
    argv: command.argv,
    cwd: command.cwd ?? root,
    tier: profile.tier,
    roots: [root, ...profile.writablePaths],
    files,
  });
}

function describe({ name, does, argument }: RunsCode): string {
  return argument === undefined ? `${name} ${does}` : `${name} ${does} (${quoted(argument)})`;
}

function interpreterRefused(why: string): RefusedCommand {
  return {
    kind: 'refused',
    code: 'sandbox.interpreter_refused',
    message: `The command runs code that it brings along: ${why}.`,
    fix: 'Use a program without that, list a script of yours in executables, or allow interpreters in the profile.',
  };
}

/** A read-only workspace counts too: what lies there is still the project's and not the operator's. */
function isAgentWritable(path: string, profile: SandboxProfile, files: ProgramFiles): boolean {
  const directory = resolvePath(posix.dirname(path), files);
  if (directory.kind === 'unresolvable') return true;
  return [profile.workspace.root, ...profile.writablePaths].some((root) => {
    const real = resolvePath(root, files);
    return real.kind === 'unresolvable' || isWithin(directory.path, real.path) || isWithin(path, real.path);
  });
}

function refuseArguments(request: CommandCheckRequest, identity: IdentifiedProgram): RefusedCommand | undefined {
  const { command, profile, files, toolchainPaths = [] } = request;
  const cwd = command.cwd ?? profile.workspace.root;
  const scope = createPathScope({ profile, cwd, toolchainPaths, files });
  const outside = cwd.startsWith('/') ? refusePath(cwd, 'read', scope) : 'is not absolute';
  if (outside !== undefined) return argumentRefused({ argument: cwd, why: outside, fix: OUTSIDE_FIX }, 'The directory');

  const refusal = firstRefusal(request, identity, scope);
  return refusal === undefined ? undefined : argumentRefused(refusal, 'The argument');
}

function firstRefusal(
  { command, programPath, profile, files }: CommandCheckRequest,
  identity: IdentifiedProgram,
  scope: PathScope,
): ArgumentRefusal | undefined {
  const args = command.argv.slice(1);
  const bringsCode = runsCode(identity, command.argv) !== undefined;
  // A file of the agent's that is called echo is not echo.
  const own = isAgentWritable(identity.path, profile, files) || isAgentWritable(programPath, profile, files);
  const known = own || bringsCode ? undefined : argumentProfile(posix.basename(programPath));
  if (known !== undefined) return refuseProfiledArguments(args, known, scope);

  for (const argument of args) {
    // Where interpreters are allowed, the text of a script is no path, and nothing is won by reading it as one.
    if (bringsCode && /[\s;|&(){}]/.test(argument)) continue;
    const why = refuseArgument(argument, scope);
    if (why !== undefined) return { argument, why, fix: OUTSIDE_FIX };
  }
  return undefined;
}

function argumentRefused({ argument, why, fix }: ArgumentRefusal, what: string): RefusedCommand {
  return { kind: 'refused', code: 'sandbox.argument_refused', message: `${what} ${quoted(argument)} ${why}.`, fix };
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
