import { codeOption } from '../guard/code-options.ts';
import type { ScriptOperand } from '../guard/interpreter-entry.ts';
import { interpreterEntries } from '../guard/interpreters.ts';

/** Which argument of a program is a script that it runs. */
export type OperandSearch =
  /** `index` counts as argv does, with the program as 0. */
  | { readonly kind: 'script'; readonly index: number }
  | { readonly kind: 'none' }
  /** It runs code, and which is not known: `why` is a sentence. */
  | { readonly kind: 'unknown'; readonly why: string };

/** By the guard's table: what is not in it is unknown, never taken for harmless. */
export function findScriptOperand(names: readonly string[], argv: readonly string[]): OperandSearch {
  const entries = interpreterEntries(names).flatMap((entry) => (entry.kind === 'always' ? [entry] : []));
  const entry = entries.find(({ operand }) => runsOperand(operand, names));
  if (entry?.operand === undefined) {
    const [other] = entries;
    return other === undefined ? NONE : { kind: 'unknown', why: `The program ${other.does}: which is not bound.` };
  }
  return searchArguments(
    argv,
    entry.operand,
    (argument) => codeOption([argument], entry.evaluates ?? {}) !== undefined,
  );
}

const NONE: OperandSearch = { kind: 'none' };

function runsOperand(operand: ScriptOperand | undefined, names: readonly string[]): boolean {
  return operand !== undefined && (operand.names?.some((name) => names.includes(name)) ?? true);
}

function searchArguments(
  argv: readonly string[],
  operand: ScriptOperand,
  isCode: (argument: string) => boolean,
): OperandSearch {
  for (let index = 1; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    if (argument === '--') return index + 1 < argv.length ? { kind: 'script', index: index + 1 } : READS_INPUT;
    if (argument === '-') return READS_INPUT;
    if (!/^[-+]/.test(argument)) return isCode(argument) ? namedBy(argument) : { kind: 'script', index };
    if (isCode(argument)) return namedBy(argument);
    const taken = optionLength(argument, operand);
    if (taken === undefined) {
      return { kind: 'unknown', why: `Behind the option ${shown(argument)} it is not known which script runs.` };
    }
    index += taken - 1;
  }
  return READS_INPUT;
}

const READS_INPUT: OperandSearch = { kind: 'unknown', why: 'Code that the program reads from its input is not bound.' };

function namedBy(argument: string): OperandSearch {
  return { kind: 'unknown', why: `What ${shown(argument)} names is not bound, unless it is the text of an argument.` };
}

/** How many arguments it takes, itself included; undefined when that is not known. */
function optionLength(argument: string, operand: ScriptOperand): number | undefined {
  if (argument.startsWith('--')) {
    const [name = '', value] = argument.split('=', 2);
    const known = value === undefined ? operand.long : operand.longValued;
    return known?.includes(name) === true ? 1 : undefined;
  }
  if (!/^-[A-Za-z]+$/.test(argument)) return undefined;
  const letters = argument.slice(1);
  const last = letters.at(-1) ?? '';
  const takesNext = operand.valued?.includes(last) === true;
  const flags = takesNext ? letters.slice(0, -1) : letters;
  if (!Array.from(flags).every((letter) => operand.flags.includes(letter))) return undefined;
  return takesNext ? 2 : 1;
}

function shown(argument: string): string {
  return JSON.stringify(argument.length > 40 ? `${argument.slice(0, 40)}…` : argument);
}
