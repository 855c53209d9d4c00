import { visibleText } from '@palyra/primitives';
import { parse, TomlError, type TomlTable } from 'smol-toml';
import type { z } from 'zod';
import { toCedarRequest } from './cedar-request.ts';
import { nearestKey } from './nearest-key.ts';
import { PolicyError } from './policy-error.ts';
import { type Expectation, keysAt, testFileSchema, type WrittenTest } from './policy-test-format.ts';
import type { PolicyTestFile } from './presets.ts';
import { createProblemList, type ProblemList } from './problem-list.ts';
import type { PolicyEvaluationConfig, PolicyRequest } from './request.ts';
import { testConfig, testRequest } from './test-request.ts';

/** One request and the answer that it must get. */
export interface PolicyTest {
  readonly name: string;
  readonly file: string;
  /** Of its `[[test]]`. */
  readonly line: number;
  readonly origin: PolicyTestFile['origin'];
  readonly request: PolicyRequest;
  readonly config: PolicyEvaluationConfig;
  readonly expected: Expectation;
}

const DEEPEST_NESTING = 8;

/** Throws one `policy.invalid_test` with every problem of every file; each names its test. */
export function parsePolicyTests(files: readonly PolicyTestFile[]): readonly PolicyTest[] {
  const problems = createProblemList();
  const tests = files.flatMap((file) => parseFile(file, problems));
  problems.throwAny();
  return tests;
}

function parseFile(file: PolicyTestFile, problems: ProblemList): readonly PolicyTest[] {
  const table = problems.collect({ file: file.name }, () => parseToml(file));
  if (table === undefined) return [];
  const lines = headerLines(file.text);
  const result = testFileSchema.safeParse({ ...table, ...withAnswers(table) });
  if (!result.success) {
    for (const issue of result.error.issues) addIssue(issue, { file, table, lines, problems });
    return [];
  }
  const { test } = result.data;
  // Beside the policies of one workspace a test is about that workspace.
  const here = file.origin.kind === 'workspace' ? { workspace: file.origin.workspace } : {};
  const defaults = { ...here, ...result.data.defaults };
  const names = new Map<string, number>();
  return test.flatMap((written, index) => {
    const line = lines[index] ?? 1;
    const place = { file: file.name, line };
    const parsed = problems.collect(place, () => {
      const earlier = names.get(written.name);
      if (earlier !== undefined) throw invalid(written.name, `has the name of the test in line ${earlier}`);
      names.set(written.name, line);
      return checkRequest({
        name: written.name,
        file: file.name,
        line,
        origin: file.origin,
        request: testRequest(defaults, written),
        config: testConfig(defaults, written),
        expected: written.expect,
      });
    });
    return parsed === undefined ? [] : [parsed];
  });
}

function parseToml({ name, text }: PolicyTestFile): TomlTable {
  try {
    return parse(text, { maxDepth: DEEPEST_NESTING });
  } catch (thrown) {
    // SECURITY: T-09 — an integer beyond 2^53 ends here as well, instead of being rounded into another test.
    if (!(thrown instanceof TomlError)) throw thrown;
    const [headline = ''] = thrown.message.replace(/^Invalid TOML document: /, '').split('\n');
    const { line, column } = thrown;
    const problem = { file: name, line, column, message: `This is not TOML: ${headline}.` };
    throw new PolicyError('policy.invalid_test', problem.message, { problems: [problem] });
  }
}

/** `expect = "ask"` is short for `expect = { answer = "ask" }`. */
function withAnswers({ test }: TomlTable): { readonly test?: unknown } {
  if (!Array.isArray(test)) return {};
  return {
    test: test.map((entry: unknown) => {
      const answer: unknown = Object(entry).expect;
      return typeof answer === 'string' ? { ...Object(entry), expect: { answer } } : entry;
    }),
  };
}

/** A request that cannot be decided is denied, so a test that expects a denial would pass for the wrong reason. */
function checkRequest(test: PolicyTest): PolicyTest {
  if (test.expected.reason_code === 'invalid_request') return test;
  try {
    toCedarRequest(test.request, test.config, { approved: false, assurance: 'none' });
    return test;
  } catch (thrown) {
    if (thrown instanceof PolicyError) throw invalid(test.name, `asks for what cannot be decided: ${thrown.message}`);
    throw invalid(test.name, 'asks for what cannot be decided.');
  }
}

interface IssuePlace {
  readonly file: PolicyTestFile;
  readonly table: TomlTable;
  readonly lines: readonly number[];
  readonly problems: ProblemList;
}

function addIssue(issue: z.core.$ZodIssue, { file, table, lines, problems }: IssuePlace): void {
  const [first, index] = issue.path;
  const inTest = first === 'test' && typeof index === 'number';
  const written = inTest ? (Object(table['test'])[index] as Partial<WrittenTest>) : undefined;
  const place = { file: file.name, line: inTest ? (lines[index] ?? 1) : 1 };
  const who = inTest ? nameOf(written, index) : first === 'defaults' ? '[defaults]' : 'The file';
  const key = issue.path.slice(inTest ? 2 : first === 'defaults' ? 1 : 0).join('.');
  if (issue.code === 'unrecognized_keys') {
    for (const unknown of issue.keys) {
      const known = keysAt(issue.path);
      const nearest = nearestKey(unknown, known);
      const shown = visibleText(key === '' ? unknown : `${key}.${unknown}`, { maxCharacters: 80 });
      const fix = nearest === undefined ? `Known here are ${known.join(', ')}.` : `Did you mean ${nearest}?`;
      problems.add('policy.invalid_test', place, { message: `${who} has an unknown key ${shown}.`, fix });
    }
    return;
  }
  const message = key === '' ? `${who}: ${issue.message}.` : `${who}: ${visibleText(key)}: ${issue.message}.`;
  problems.add('policy.invalid_test', place, { message });
}

function nameOf(written: Partial<WrittenTest> | undefined, index: number): string {
  const name: unknown = written?.name;
  return typeof name === 'string' ? quote(name) : `Test ${index + 1}`;
}

/** smol-toml tells no places; a header inside a text of several lines only makes a message point elsewhere. */
function headerLines(text: string): readonly number[] {
  return text.split('\n').flatMap((line, index) => (/^\s*\[\[\s*test\s*\]\]/.test(line) ? [index + 1] : []));
}

function invalid(name: string, sentence: string): PolicyError {
  return new PolicyError('policy.invalid_test', `${quote(name)} ${sentence.replace(/\.$/, '')}.`);
}

function quote(name: string): string {
  return `"${visibleText(name, { maxCharacters: 200 })}"`;
}
