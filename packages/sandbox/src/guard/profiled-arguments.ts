import type { ArgumentProfile, OptionValue } from './argument-profiles.ts';
import { type PathAccess, type PathScope, refuseArgument, refusePath } from './path-arguments.ts';

/** What is wrong with one argument. */
export interface ArgumentRefusal {
  readonly argument: string;
  /** The end of a sentence that begins with the argument. */
  readonly why: string;
  readonly fix: string;
}

/** Checks arguments by what is known of their program; undefined when all are well. */
export function refuseProfiledArguments(
  args: readonly string[],
  profile: ArgumentProfile,
  scope: PathScope,
): ArgumentRefusal | undefined {
  if (profile.textOnly) return undefined;
  const read = readArguments(args, profile);
  if (read.unknown !== undefined) return unknownOption(read.unknown);
  return (
    read.values.map((value) => refuseValue(value, profile, scope)).find((refusal) => refusal !== undefined) ??
    operandsOf(read, profile)
      .map((value) => refuseValue(value, profile, scope))
      .find((refusal) => refusal !== undefined)
  );
}

interface ArgumentValue {
  readonly kind: 'text' | 'path' | 'write' | 'guess';
  readonly argument: string;
  readonly text: string;
}

interface ReadArguments {
  readonly values: ArgumentValue[];
  readonly operands: string[];
  readonly seen: Set<string>;
  unknown: string | undefined;
}

function readArguments(args: readonly string[], profile: ArgumentProfile): ReadArguments {
  const read: ReadArguments = { values: [], operands: [], seen: new Set(), unknown: undefined };
  const ahead = args.toReversed();
  for (let argument = ahead.pop(); argument !== undefined && read.unknown === undefined; argument = ahead.pop()) {
    if (argument === '--') {
      read.operands.push(...ahead.splice(0).toReversed());
    } else if (argument === '-' || !argument.startsWith('-')) {
      read.operands.push(argument);
    } else if (!(profile.numeric && /^-\d+$/.test(argument))) {
      const readOption = argument.startsWith('--') ? readLong : readCluster;
      if (!readOption(argument, { ahead, profile, read })) read.unknown = argument;
    }
  }
  return read;
}

interface Reading {
  readonly ahead: string[];
  readonly profile: ArgumentProfile;
  readonly read: ReadArguments;
}

/** SECURITY: T-12 — in full or not at all: an abbreviation is an option that this table does not know. */
function readLong(argument: string, { ahead, profile, read }: Reading): boolean {
  const split = argument.indexOf('=');
  const name = split < 0 ? argument : argument.slice(0, split);
  const attached = split < 0 ? undefined : argument.slice(split + 1);
  const takes = profile.options.get(name);
  if (takes === undefined || (takes === 'none' && attached !== undefined)) return false;
  read.seen.add(name);
  takeValue(takes, { name, argument, attached }, { ahead, profile, read });
  return true;
}

function readCluster(argument: string, { ahead, profile, read }: Reading): boolean {
  for (let index = 1; index < argument.length; index++) {
    const name = `-${argument[index] ?? ''}`;
    const takes = profile.options.get(name);
    if (takes === undefined) return false;
    read.seen.add(name);
    if (takes === 'none') continue;
    const rest = argument.slice(index + 1);
    takeValue(takes, { name, argument, attached: rest === '' ? undefined : rest }, { ahead, profile, read });
    return true;
  }
  return true;
}

interface TakenOption {
  readonly name: string;
  readonly argument: string;
  readonly attached: string | undefined;
}

function takeValue(
  takes: OptionValue,
  { name, argument, attached }: TakenOption,
  { ahead, profile, read }: Reading,
): void {
  if (takes === 'none') return;
  if (takes === 'optional') {
    if (attached !== undefined) read.values.push({ kind: 'guess', argument, text: attached });
    return;
  }
  if (takes === 'named-text' || takes === 'named-path') ahead.pop();
  const text = attached ?? ahead.pop();
  if (text === undefined) return;
  read.values.push({
    kind: valueKind(takes, name, { attached, profile }),
    argument: attached === undefined ? text : argument,
    text,
  });
}

/**
 * SECURITY: T-12 — an option that takes text here is a flag on another system, and what follows it a file there: only a
 * pattern is taken for text unseen.
 */
function valueKind(
  takes: Exclude<OptionValue, 'none' | 'optional'>,
  name: string,
  { attached, profile }: { readonly attached: string | undefined; readonly profile: ArgumentProfile },
): ArgumentValue['kind'] {
  if (takes === 'named-path') return 'path';
  if (takes === 'named-text') return 'text';
  if (takes !== 'text' || attached !== undefined) return takes;
  return profile.patternOptions.includes(name) ? 'text' : 'guess';
}

function operandsOf({ operands, seen }: ReadArguments, profile: ArgumentProfile): readonly ArgumentValue[] {
  const hasPattern = profile.operands === 'pattern' && !profile.patternOptions.some((option) => seen.has(option));
  return operands.map((operand, index): ArgumentValue => {
    const value = { argument: operand, text: operand };
    if (hasPattern && index === 0) return { kind: 'text', ...value };
    if (profile.operands === 'text' || profile.operands === 'guess') return { kind: profile.operands, ...value };
    const writes = profile.writes === 'all' || (profile.writes === 'last' && index === operands.length - 1);
    return { kind: writes ? 'write' : 'path', ...value };
  });
}

function refuseValue(
  { kind, argument, text }: ArgumentValue,
  profile: ArgumentProfile,
  scope: PathScope,
): ArgumentRefusal | undefined {
  if (kind === 'text') {
    if (profile.refusedText?.test(text) !== true) return undefined;
    return { argument, why: 'reads files that no argument names', fix: 'Give the files as arguments.' };
  }
  const why =
    kind === 'guess' ? refuseArgument(text, scope) : refusePathText(text, kind === 'write' ? 'write' : 'read', scope);
  return why === undefined ? undefined : { argument, why, fix: OUTSIDE_FIX };
}

export const OUTSIDE_FIX =
  'Name a path inside the workspace, or add the path to readOnlyPaths or writablePaths of the profile.';

function refusePathText(path: string, access: PathAccess, scope: PathScope): string | undefined {
  return path === '-' || path === '' ? undefined : refusePath(path, access, scope);
}

function unknownOption(argument: string): ArgumentRefusal {
  return {
    argument,
    why: 'is no option that is known to be harmless',
    fix: 'Leave it out, write long options in full, or run the command in Tier C.',
  };
}
