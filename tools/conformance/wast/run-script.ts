import { describeModule, engine, instrument, type ModuleLimits } from '@palyra/wasm';
import { type Assembler, type ModuleForm, readModuleForm } from './assemble.ts';
import { type Expectation, isAsExpected, type Outcome, told } from './outcomes.ts';
import { proposalIn } from './proposals.ts';
import { headOf, type ListNode, type Node, parseForms, stringOf, withoutAnnotations, wordOf } from './syntax.ts';
import { parsePattern, parseValue, type WastValue } from './values.ts';
import { type Actor, createWorld, invoke, makeActor, readGlobal, type World } from './world.ts';

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

/** An instance in both worlds, or nothing where its module could not be made. */
type Pair = { readonly plain: Actor; readonly metered: Actor } | undefined;

interface Definition {
  readonly bytes: Uint8Array;
  readonly metered: Uint8Array;
}

interface Running {
  readonly source: string;
  readonly assembler: Assembler;
  readonly plain: World;
  readonly metered: World;
  readonly pairs: Map<string, Pair>;
  readonly definitions: Map<string, Definition | undefined>;
  /** Names that were registered for modules we do not have. */
  readonly absent: Set<string>;
  latest: Pair;
  latestDefinition: Definition | undefined;
  agreed: number;
  skipped: number;
  readonly disagreements: string[];
  readonly unsupported: string[];
  readonly unread: string[];
  readonly deviations: string[];
}

/** As much as V8 takes: the suite tests what lies at its limits. */
const LIMITS: Partial<ModuleLimits> = {
  memoryPages: 65_536,
  tableElements: 0xffff_ffff,
  tables: 1_000,
  branchTargets: 65_520,
  locals: 49_990,
  arity: 1_000,
  nesting: 10_000,
  sections: 10_000,
  bodyBytes: 7_000_000,
};

const COMMANDS = /^(?:module|register|invoke|get|assert_\w+|thread|wait|input|output|script)$/;

/** Runs a script plainly and metered, side by side. Throws `WastSyntaxError` for what is no script. */
export async function runScript(text: string, assembler: Assembler): Promise<ScriptReport> {
  const source = withoutAnnotations(text);
  const running: Running = {
    source,
    assembler,
    plain: createWorld({ isMetered: false }),
    metered: createWorld({ isMetered: true }),
    pairs: new Map(),
    definitions: new Map(),
    absent: new Set(),
    latest: undefined,
    latestDefinition: undefined,
    agreed: 0,
    skipped: 0,
    disagreements: [],
    unsupported: [],
    unread: [],
    deviations: [],
  };
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

/** The plain and the metered bytes, or nothing, with a word about why. */
async function define(running: Running, module: ModuleForm): Promise<Definition | undefined> {
  const assembled = await running.assembler.assemble(module, running.source, 'thorough');
  if (assembled.kind === 'not_assembled') {
    const proposal = proposalIn(assembled.text);
    if (proposal !== undefined) running.unsupported.push(proposal);
    else running.unread.push(`${lineOf(running, module.form)}: ${firstLine(assembled.why)}`);
    return undefined;
  }
  const { bytes } = assembled;
  const metered = instrument(bytes, LIMITS);
  if (metered.kind === 'instrumented') return { bytes, metered: metered.bytes };
  const isValid = engine.validate(bytes);
  if (metered.code === 'wasm.unsupported')
    running.unsupported.push(metered.reason.replace(/^The module uses (.*)\.$/, '$1'));
  else if (isValid)
    running.disagreements.push(`${lineOf(running, module.form)}: valid, but ${metered.code}: ${metered.reason}`);
  else
    running.unsupported.push(
      proposalIn(running.source.slice(module.form.start, module.form.end)) ?? 'something this V8 does not know',
    );
  return undefined;
}

function instantiate(
  running: Running,
  definition: Definition | undefined,
  form: Node,
  expected: Outcome['kind'],
): Pair {
  if (definition === undefined || importsAbsent(running, definition)) {
    running.skipped += 1;
    return undefined;
  }
  const plain = makeActor(running.plain, definition.bytes);
  const metered = makeActor(running.metered, definition.metered);
  const outcomes: readonly [Outcome, Outcome] = [
    plain.kind === 'made' ? RETURNED : plain.outcome,
    metered.kind === 'made' ? RETURNED : metered.outcome,
  ];
  compare(running, form, { outcomes, patterns: undefined, expected });
  return plain.kind === 'made' && metered.kind === 'made' ? { plain: plain.actor, metered: metered.actor } : undefined;
}

const RETURNED: Outcome = { kind: 'returned', values: [] };

function importsAbsent({ absent }: Running, { bytes }: Definition): boolean {
  if (absent.size === 0) return false;
  return describeModule(bytes, LIMITS).imports.some(({ module }) => absent.has(module));
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

/** An action in both worlds. */
function settle(running: Running, action: Node | undefined, expectation: Expectation): void {
  const pair = pairOf(running, action);
  if (pair === undefined || action?.kind !== 'list') {
    running.skipped += 1;
    return;
  }
  const items = action.items.slice(1).filter((item) => wordOf(item) === undefined);
  const name = stringOf(items[0]) ?? '';
  const act = actionOf(headOf(action), name, items.slice(1).map(parseValue));
  if (act === undefined) {
    running.skipped += 1;
    running.unsupported.push('a value that only garbage collection has');
    return;
  }
  const outcomes = [act(running.plain, pair.plain), act(running.metered, pair.metered)] as const;
  // What `get` reads has come through JavaScript and lost its type.
  const patterns = headOf(action) === 'get' ? undefined : expectation.patterns;
  compare(running, action, { outcomes, ...expectation, patterns });
}

function actionOf(head: string, name: string, args: readonly (WastValue | undefined)[]) {
  if (head === 'get') return (world: World, actor: Actor) => readGlobal(world, actor, name);
  const known = args.filter((arg) => arg !== undefined);
  if (known.length !== args.length) return undefined;
  return (world: World, actor: Actor) => invoke(world, actor, { name, args: known });
}

function pairOf(running: Running, action: Node | undefined): Pair {
  const named = action?.kind === 'list' ? wordOf(action.items[1]) : undefined;
  return named === undefined ? running.latest : running.pairs.get(named);
}

const FAILURES: Readonly<Record<string, Outcome['kind']>> = {
  assert_trap: 'trapped',
  assert_exhaustion: 'exhausted',
  assert_exception: 'thrown',
  assert_unlinkable: 'unlinkable',
};

/** An action, or a module whose instance fails. */
async function runFailing(running: Running, head: string, subject: Node | undefined): Promise<void> {
  const expected = FAILURES[head];
  if (subject?.kind !== 'list' || headOf(subject) !== 'module' || expected === undefined) {
    return settle(running, subject, { patterns: undefined, expected });
  }
  const isInstance = wordOf(subject.items[1]) === 'instance';
  const known = running.definitions.get(wordOf(subject.items[2]) ?? '');
  instantiate(running, isInstance ? known : await define(running, readModuleForm(subject)), subject, expected);
}

/** A module that must not be accepted: not by V8, and so not by us. */
async function runRefused(running: Running, subject: Node | undefined, head: string): Promise<void> {
  if (subject?.kind !== 'list') return;
  const assembled = await running.assembler.assemble(readModuleForm(subject), running.source, 'quick');
  // A text that is not even assembled is as refused as can be.
  if (assembled.kind === 'not_assembled') return;
  const isValid = engine.validate(assembled.bytes);
  const metered = instrument(assembled.bytes, LIMITS);
  if (!isValid && metered.kind === 'instrumented')
    running.disagreements.push(`${lineOf(running, subject)}: invalid, and metered all the same`);
  else running.agreed += 1;
  if (isValid && head === 'assert_invalid')
    running.deviations.push(`${lineOf(running, subject)}: V8 accepts what the script calls invalid`);
}

interface Comparison extends Expectation {
  readonly outcomes: readonly [Outcome, Outcome];
}

function compare(running: Running, form: Node, { outcomes, patterns, expected }: Comparison): void {
  const [plain, metered] = outcomes;
  const fits = (outcome: Outcome): boolean => isAsExpected(outcome, { expected, patterns });
  if (told(plain) !== told(metered) && !(patterns !== undefined && fits(plain) && fits(metered))) {
    running.disagreements.push(`${lineOf(running, form)}: plain ${told(plain)}, metered ${told(metered)}`);
    return;
  }
  running.agreed += 1;
  if (!fits(plain)) running.deviations.push(`${lineOf(running, form)}: V8 gives ${told(plain)}`);
}

function lineOf({ source }: Running, { start }: Node): string {
  return `line ${source.slice(0, start).split('\n').length}`;
}

function firstLine(text: string): string {
  return text.split('\n').slice(0, 2).join(' ').trim();
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
