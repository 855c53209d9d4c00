import { type Assembler, readModuleForm } from './assemble.ts';
import { define, instantiate } from './make-pair.ts';
import { runFailing, runRefused, settle } from './run-assertions.ts';
import { createRunning, type Pair, type Running } from './running.ts';
import { headOf, type ListNode, parseForms, stringOf, withoutAnnotations, wordOf } from './syntax.ts';
import { parsePattern } from './values.ts';

/** What one script came to. */
export interface ScriptReport {
  /** Commands that ran in both worlds, with the same outcome. */
  readonly agreed: number;
  /** Where the metered module did something else than the plain one. */
  readonly disagreements: readonly string[];
  /** Modules that need a proposal we refuse, each named. */
  readonly unsupported: readonly string[];
  /** Module texts that neither assembler reads, although no proposal that we refuse is in them. */
  readonly unread: readonly string[];
  /** Where V8 itself, metered or not, does not do what the script expects. */
  readonly deviations: readonly string[];
  /** Commands that could not run because of something named above. */
  readonly skipped: number;
}

const COMMANDS = /^(?:module|register|invoke|get|assert_\w+|thread|wait|input|output|script)$/;

/** Runs a script plainly and metered, side by side. Throws `WastSyntaxError` for what is no script. */
export async function runScript(text: string, assembler: Assembler): Promise<ScriptReport> {
  const source = withoutAnnotations(text);
  const running = createRunning(source, assembler);
  const forms = parseForms(source);
  // A script may also be nothing but the fields of one module.
  const isFields = forms.length > 0 && forms.every((form) => !COMMANDS.test(headOf(form)));
  if (isFields)
    await runModule(running, { kind: 'list', isAnnotation: false, items: [], start: 0, end: source.length });
  else for (const form of forms) await runCommand(running, form);
  const { agreed, skipped, disagreements, unsupported, unread, deviations } = running;
  return { agreed, skipped, disagreements, unsupported: unique(unsupported), unread, deviations };
}

async function runCommand(running: Running, form: ListNode): Promise<void> {
  const head = headOf(form);
  const [, first, second] = form.items;
  switch (head) {
    case 'module':
      return runModule(running, form);
    case 'register':
      return register(running, stringOf(first) ?? '', wordOf(second));
    case 'invoke':
    case 'get':
      return settle(running, form, { patterns: undefined, expected: undefined });
    case 'assert_return':
      return settle(running, first, { patterns: form.items.slice(2).map(parsePattern), expected: 'returned' });
    case 'assert_return_canonical_nan':
    case 'assert_return_arithmetic_nan':
      // As older scripts have it.
      return settle(running, first, { patterns: undefined, expected: 'returned' });
    case 'assert_trap':
    case 'assert_exhaustion':
    case 'assert_exception':
    case 'assert_unlinkable':
      return runFailing(running, head, first);
    case 'assert_invalid':
    case 'assert_malformed':
    case 'assert_invalid_custom':
    case 'assert_malformed_custom':
      return runRefused(running, first, head);
    case 'thread':
    case 'wait':
      running.unsupported.push('threads (a script with threads)');
      return;
    default:
      running.unsupported.push(`the command ${head}`);
  }
}

async function runModule(running: Running, form: ListNode): Promise<void> {
  const module = readModuleForm(form);
  if (wordOf(module.rest[0]) === 'instance' || (module.name === undefined && wordOf(form.items[1]) === 'instance')) {
    return runInstance(running, form);
  }
  const definition = await define(running, module);
  if (module.isDefinition) {
    running.latestDefinition = definition;
    if (module.name !== undefined) running.definitions.set(module.name, definition);
    return;
  }
  if (module.name !== undefined) running.definitions.set(module.name, definition);
  running.latestDefinition = definition;
  keep(running, module.name, instantiate(running, definition, form, 'returned'));
}

/** `(module instance $name $definition)`. */
function runInstance(running: Running, form: ListNode): void {
  const [name, definition] = form.items.slice(2).map(wordOf);
  const known = definition === undefined ? running.latestDefinition : running.definitions.get(definition);
  keep(running, name, instantiate(running, known, form, 'returned'));
}

function keep(running: Running, name: string | undefined, pair: Pair): void {
  running.latest = pair;
  if (name !== undefined) running.pairs.set(name, pair);
}

function register(running: Running, as: string, name: string | undefined): void {
  const pair = name === undefined ? running.latest : running.pairs.get(name);
  if (pair === undefined) {
    running.absent.add(as);
    running.skipped += 1;
    return;
  }
  running.absent.delete(as);
  running.plain.registered.set(as, pair.plain.instance.exports);
  running.metered.registered.set(as, pair.metered.instance.exports);
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
