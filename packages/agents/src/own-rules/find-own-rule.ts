import { basename } from 'node:path';
import type { CommandPattern, OwnRule } from './own-rule.ts';
import { coversOne, type NamedFiles, namedFiles, type Patience } from './path-pattern.ts';
import { readShell, type ShellReading, type ShellWord, type SimpleCommand } from './read-shell.ts';
import { matchesWild } from './wild-text.ts';

export interface OwnQuestion {
  readonly command: string;
  /** Where the command runs, and the directories above it: what a path may be relative to. */
  readonly directories: readonly string[];
  readonly userHome: string;
}

export type OwnVerdict =
  | { readonly kind: 'none' }
  | { readonly kind: 'deny' | 'ask'; readonly rule: string }
  /** There are rules, and it cannot be told what the command starts. */
  | { readonly kind: 'doubt' };

/**
 * What the user's own rules say of a command that the agent is told to replace: the agent compares them with what it is told
 * to run, and would find nothing.
 * SECURITY: T-58 — whoever reads more into a command than its agent does asks once too often; never once too little.
 */
export function findOwnRule(rules: readonly OwnRule[], question: OwnQuestion): OwnVerdict {
  if (rules.length === 0) return { kind: 'none' };
  // SECURITY: T-39 — rules are anybody's who wrote the project, commands the agent's: what takes too long is a doubt.
  if (question.command.length > LONGEST || rules.length > MOST_RULES) return { kind: 'doubt' };
  if (rules.some(({ text }) => text.length > LONGEST_RULE)) return { kind: 'doubt' };
  const started = startedBy(question.command);
  const patience = { left: MOST_COMPARED };
  const files = rules.some((each) => each.covers.kind === 'path') ? namedFiles(started.commands, question) : NO_FILES;
  const found = (effect: OwnRule['effect']) =>
    rules.find((rule) => rule.effect === effect && covers(rule.covers, { question, started, files, patience }));
  const rule = found('deny') ?? found('ask');
  if (rule !== undefined) return { kind: rule.effect, rule: rule.text };
  return started.isCertain && files.areAll && patience.left > 0 ? { kind: 'none' } : { kind: 'doubt' };
}

const NO_FILES: NamedFiles = { paths: [], areAll: true };

interface Started {
  readonly commands: readonly SimpleCommand[];
  /** Each as texts that a rule could mean. */
  readonly texts: readonly string[];
  /** Each as words, the program first. */
  readonly words: readonly (readonly string[])[];
  readonly isCertain: boolean;
}

interface Comparison {
  readonly question: OwnQuestion;
  readonly started: Started;
  readonly files: NamedFiles;
  readonly patience: Patience;
}

function covers(pattern: CommandPattern, { question, started, files, patience }: Comparison): boolean {
  switch (pattern.kind) {
    case 'any':
      return true;
    case 'beginning':
      return formsOf(pattern.text).some((form) => started.texts.some((text) => beginsWith(text, form)));
    case 'whole':
      return formsOf(pattern.text).some((form) => started.texts.some((text) => matchesWild(text, form)));
    case 'words':
      return started.words.some((words) => pattern.words.every((any, at) => any.includes(words[at] ?? '')));
    case 'path':
      return coversOne(pattern.pattern, files, { ...question, patience });
  }
}

/** Behind `A=b` and `timeout 5` a command is known by its words alone, which have lost their quotes. */
function formsOf(text: string): readonly string[] {
  return [...new Set([text, text.replaceAll(/["'\\]/g, '')])];
}

/** `rm` is not the beginning of `rmdir`; `curl https://` is one of `curl https://host`. */
function beginsWith(text: string, beginning: string): boolean {
  const wanted = beginning.trim();
  if (matchesWild(text, wanted) || matchesWild(text, `${wanted} *`)) return true;
  return /\W$/.test(wanted) && matchesWild(text, `${wanted}*`);
}

/** They start what is among their arguments, in one word or in several. */
const STARTERS: ReadonlySet<string> = new Set(
  'sudo doas su runuser env timeout time nice ionice nohup stdbuf setsid xargs parallel command builtin exec eval trap bash sh dash zsh ksh busybox watch strace find chroot unshare nsenter flock script coproc function noglob nocorrect'.split(
    ' ',
  ),
);
/** They read a word once more, so that `{rm,x}` and `rm$IFS` are no names to them. */
const READERS: ReadonlySet<string> = new Set(
  'eval trap bash sh dash zsh ksh busybox su runuser watch script flock parallel'.split(' '),
);
const KEYWORDS: ReadonlySet<string> = new Set(['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', '{']);
const DEEPEST = 4;
const LONGEST = 32 * 1024;
const MOST_RULES = 500;
const LONGEST_RULE = 1024;
const MOST_TEXTS = 1000;
const MOST_COMPARED = 150_000;
const MOST_WORDS = 64;

function startedBy(command: string): Started {
  const commands: SimpleCommand[] = [];
  const texts = [command.trim(), oneSpaced(command)];
  const words: (readonly string[])[] = [];
  let isCertain = true;
  const add = (all: readonly ShellWord[]) => {
    const [program, ...rest] = all;
    if (program === undefined) return;
    if (!program.isLiteral) isCertain = false;
    const plain = rest.map(({ text }) => text);
    for (const name of new Set([program.text, basename(program.text)])) {
      words.push([name, ...plain]);
      texts.push([name, ...plain].join(' '));
    }
  };
  const enter = ({ commands: found, isWhole }: ShellReading, depth: number) => {
    if (!isWhole || depth > DEEPEST) isCertain = false;
    if (depth > DEEPEST) return;
    for (const each of found) {
      const all = withoutPrefix(each.words);
      commands.push({ ...each, words: all });
      texts.push(each.text);
      add(all);
      const [program, ...rest] = all;
      if (program === undefined || !STARTERS.has(basename(program.text))) continue;
      if (rest.length > MOST_WORDS || rest.some(({ isLiteral }) => !isLiteral)) isCertain = false;
      const isReadAgain = all.some(({ text }) => READERS.has(basename(text)));
      for (const [at, word] of rest.slice(0, MOST_WORDS).entries()) {
        const inner = withoutPrefix(rest.slice(at, at + MOST_WORDS));
        add(inner);
        commands.push({ ...each, words: inner, files: [] });
        if ((isReadAgain ? /[^\w@%+=:,./-]/ : /[\s;&|]/).test(word.text)) enter(readShell(word.text), depth + 1);
      }
      for (const document of each.documents) enter(readShell(document), depth + 1);
    }
  };
  enter(readShell(command), 0);
  const distinct = [...new Set(texts)];
  if (distinct.length > MOST_TEXTS || words.length > MOST_TEXTS) isCertain = false;
  return { commands, texts: distinct.slice(0, MOST_TEXTS), words: words.slice(0, MOST_TEXTS), isCertain };
}

/** `A=b` and the words of the shell itself are not the program. */
function withoutPrefix(words: readonly ShellWord[]): readonly ShellWord[] {
  const first = words.findIndex(({ text }) => !/^\w+\+?=/.test(text) && !KEYWORDS.has(text));
  return first === -1 ? [] : words.slice(first);
}

function oneSpaced(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ');
}
