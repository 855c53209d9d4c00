import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ConformanceError, type SuiteResult } from './suite.ts';
import { type Assembler, createAssembler } from './wast/assemble.ts';
import { runScript, type ScriptReport } from './wast/run-script.ts';

export interface WasmSpecResult extends SuiteResult {
  /** Commands with the same outcome plain and metered. */
  readonly agreed: number;
  /** Places where V8 itself does not do what a script expects; they are told, and are no fault of ours. */
  readonly deviations: number;
  /** Module texts that neither assembler reads; their files count as unsupported. */
  readonly unread: number;
}

/** Of one file; more have one cause. */
const MOST_TOLD = 5;

/**
 * The scripts of the WebAssembly specification (`*.wast` below the directory), each run plainly and metered, side by side:
 * results, traps and refusals must be the same. `total` counts files; `passed` are those run in full, `unsupported` those
 * with a module of a proposal that we refuse, whose other modules ran, and `failed` those with a disagreement.
 */
export async function run(directory: string, tell: (line: string) => void = () => {}): Promise<WasmSpecResult> {
  const files = await scriptsBelow(directory);
  if (files.length === 0) {
    throw new ConformanceError('conformance.no_vectors', 'The directory holds no vectors of wasm-spec.', {
      fix: 'Give the directory of the public test suite, the one that holds *.wast files.',
    });
  }
  const assembler = await createAssembler();
  const counts = { passed: 0, failed: 0, unsupported: 0 };
  const sums = { agreed: 0, deviations: 0, unread: 0 };
  for (const file of files) {
    const report = await reportOf(await readFile(file), assembler);
    const { kind, lines } = verdictOf(report);
    counts[kind] += 1;
    sums.agreed += report.agreed;
    sums.deviations += report.deviations.length;
    sums.unread += report.unread.length;
    for (const line of lines) tell(`${line.kind}: ${relative(directory, file)}: ${line.text}`);
  }
  return { suite: 'wasm-spec', total: files.length, ...counts, ...sums };
}

async function reportOf(content: Buffer, assembler: Assembler): Promise<ScriptReport> {
  try {
    return await runScript(content.toString('utf8'), assembler);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { agreed: 0, disagreements: [why], unsupported: [], unread: [], deviations: [], skipped: 0 };
  }
}

function verdictOf({ disagreements, unsupported, unread, deviations }: ScriptReport) {
  const lines = [
    ...told('failed', disagreements),
    ...told('unsupported', unsupported.length === 0 ? [] : [unsupported.join('; ')]),
    ...told('unread', unread),
    ...told('deviation', deviations),
  ];
  if (disagreements.length > 0) return { kind: 'failed', lines } as const;
  return { kind: unsupported.length + unread.length > 0 ? 'unsupported' : 'passed', lines } as const;
}

function told(kind: string, texts: readonly string[]) {
  const shown = texts.slice(0, MOST_TOLD).map((text) => ({ kind, text }));
  const more = texts.length - shown.length;
  return more > 0 ? [...shown, { kind, text: `… and ${more} more` }] : shown;
}

async function scriptsBelow(directory: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && entry.name.endsWith('.wast'))
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted();
  } catch (cause) {
    throw new ConformanceError('conformance.missing_directory', `${directory} cannot be read.`, {
      fix: 'Give an existing directory of published vectors.',
      cause,
    });
  }
}
