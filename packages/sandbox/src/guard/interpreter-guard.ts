import { codeOption } from './code-options.ts';
import type { IdentifiedProgram } from './identify-program.ts';
import type { InterpreterEntry, Subcommands } from './interpreter-entry.ts';
import { interpreterEntries, MULTI_CALL } from './interpreters.ts';
import { programNames } from './program-names.ts';
import { sedRefusal } from './sed-script.ts';

/** Why a command runs code that it brings along: the name that gave it away, what it does, and the argument. */
export interface RunsCode {
  readonly name: string;
  readonly does: string;
  readonly argument: string | undefined;
}

/** By name and arguments only; where the program lies is another question. Undefined when it runs no such code. */
export function runsCode(identity: IdentifiedProgram, argv: readonly string[]): RunsCode | undefined {
  const [called = '', ...args] = argv;
  const calledNames = programNames(called);
  const names = withoutApplets([...new Set([...identity.names, ...calledNames])], calledNames);
  // SECURITY: T-13 — the one option by which coreutils becomes another of its programs.
  const switched = args.find((argument) => argument.startsWith('--coreutils-prog'));
  if (switched !== undefined) return { name: called, does: 'becomes another program', argument: switched };

  for (const entry of interpreterEntries(names)) {
    const found = runsCodeAs(entry, argumentsOf(entry, args, calledNames));
    if (found === undefined) continue;
    return {
      name: entry.names.find((name) => names.includes(name)) ?? called,
      does: entry.does,
      argument: found.argument,
    };
  }
  return undefined;
}

/** `ls`, a link to busybox, is ls: a multi-call binary counts as such only when it is called by its own name. */
function withoutApplets(names: readonly string[], calledNames: readonly string[]): readonly string[] {
  const byOwnName = calledNames.some((name) => [...MULTI_CALL].some((multiCall) => name.startsWith(multiCall)));
  return byOwnName ? names : names.filter((name) => !MULTI_CALL.has(name));
}

/** SECURITY: T-13 — git that is called `git-rebase` is `git rebase`, and has no subcommand among its arguments. */
function argumentsOf(
  { names, ...entry }: InterpreterEntry,
  args: readonly string[],
  calledNames: readonly string[],
): readonly string[] {
  if (entry.kind !== 'with' || entry.subcommands === undefined) return args;
  const prefix = names.map((name) => `${name}-`).find((each) => calledNames[0]?.startsWith(each));
  return prefix === undefined ? args : [calledNames[0]?.slice(prefix.length) ?? '', ...args];
}

function runsCodeAs(
  entry: InterpreterEntry,
  args: readonly string[],
): { readonly argument: string | undefined } | undefined {
  if (entry.kind === 'always') {
    return { argument: entry.evaluates === undefined ? undefined : codeOption(args, entry.evaluates) };
  }
  const argument =
    codeOption(args, entry.options) ??
    (entry.subcommands === undefined ? undefined : codeSubcommand(args, entry.subcommands)) ??
    (entry.script === 'sed' ? sedRefusal(args) : undefined);
  return argument === undefined ? undefined : { argument };
}

function codeSubcommand(args: readonly string[], subcommands: Subcommands): string | undefined {
  const index = subcommandIndex(args, subcommands.globalValued);
  const before = codeOption(args.slice(0, index), subcommands.global);
  const command = args[index];
  if (before !== undefined || command === undefined) return before;
  // SECURITY: T-12 — an unknown subcommand may be an alias, and an alias any command.
  if (!subcommands.harmless.includes(command)) return command;
  const own = Object.hasOwn(subcommands.perCommand, command) ? subcommands.perCommand[command] : undefined;
  return own === undefined ? undefined : codeOption(args.slice(index + 1), own);
}

function subcommandIndex(args: readonly string[], valued: readonly string[]): number {
  let index = 0;
  while (index < args.length && args[index]?.startsWith('-') === true) {
    index += valued.includes(args[index] ?? '') ? 2 : 1;
  }
  return index;
}
