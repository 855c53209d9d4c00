import { describeModule, engine, instrument, type ModuleLimits } from '@palyra/wasm';
import type { ModuleForm } from './assemble.ts';
import type { Outcome } from './outcomes.ts';
import { proposalIn } from './proposals.ts';
import { compare, type Definition, lineOf, type Pair, type Running } from './running.ts';
import type { Node } from './syntax.ts';
import { makeActor } from './world.ts';

/** As much as V8 takes: the suite tests what lies at its limits. */
export const LIMITS: Partial<ModuleLimits> = {
  memoryPages: 65_536,
  tableElements: 0xffff_ffff,
  tables: 1_000,
  branchTargets: 65_520,
  locals: 49_990,
  arity: 1_000,
  nesting: 10_000,
  sections: 10_000,
  bodyBytes: 7_000_000,
  tagValues: 1_000,
  exceptionElements: 10_000_000,
  compileWork: Number.MAX_SAFE_INTEGER,
  totalCompileWork: Number.MAX_SAFE_INTEGER,
};

/** The plain and the metered bytes, or nothing, with a word about why. */
export async function define(running: Running, module: ModuleForm): Promise<Definition | undefined> {
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

export function instantiate(
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

function firstLine(text: string): string {
  return text.split('\n').slice(0, 2).join(' ').trim();
}
