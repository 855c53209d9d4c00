import { readFileSync } from 'node:fs';
import type { Explanation } from '@palyra/policy';
import { parseJson, visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition, CommandInput } from '../command.ts';
import { resolvePath } from '../find-home.ts';
import { findPolicies } from '../find-policies.ts';
import { readStdin } from '../read-stdin.ts';
import { decisionAsJson, renderExplanation } from '../render/explanation.ts';

/** Asks the policies about one request and shows what the answer rests on. Nothing is run and nobody is asked. */
export const policyExplain: CommandDefinition = {
  name: 'policy explain',
  group: 'Policy',
  summary: 'Show the answer to one request, and why',
  details:
    "FILE is a request as JSON, in the words of policy tests: {} is an agent's process in its box, and every key " +
    'changes one thing, such as {"enforced": {"hosts": ["example.com:443"]}}. Exits with 0 whatever the answer is.',
  arguments: [{ name: 'FILE', summary: 'The request; - is standard input', isRequired: false }],
  options: [
    { flags: '--tool <NAME>', summary: 'The tool that is called' },
    { flags: '--principal <WHO>', summary: 'Who asks: agent:NAME or user:NAME' },
    { flags: '--workspace <ID>', summary: 'Where' },
    { flags: '--host <LIST>', summary: 'Hosts it reaches: example.com:443,...' },
    { flags: '--tier <TIER>', summary: 'A, B, C, built_in or none' },
    { flags: '--command <TEXT>', summary: 'The command line that the arguments declare' },
    { flags: '--policies <DIR>', summary: 'Policies other than those of the home' },
  ],
  async run(input, context) {
    const { policies: typed } = input.options;
    const written = withOptions(await readRequest(input.arguments[0], context), input.options);
    const found = await findPolicies(typeof typed === 'string' ? typed : undefined, context);
    const { compilePolicies, explain, loadPolicies, readWrittenRequest } = await import('@palyra/policy');
    const { request, config } = readWrittenRequest(written);
    const compiled = compilePolicies(found);
    const loaded = await loadPolicies(compiled);
    try {
      const explanation = await explain(request, { compiled, loaded, config });
      return {
        json: { preset: found.preset, digest: compiled.set.digest, ...asJson(explanation), warnings: found.warnings },
        render: (paint) => renderExplanation(explanation, paint),
        warnings: found.warnings,
      };
    } finally {
      loaded.close();
    }
  },
};

async function readRequest(file: string | undefined, context: CommandContext): Promise<unknown> {
  if (file === undefined) return {};
  const source = file === '-' ? 'standard input' : visibleText(file);
  const bytes = file === '-' ? await readStdin(context) : readBytes(resolvePath(file, context));
  try {
    // SECURITY: T-57 — a repeated key would be explained as one request and decided as another.
    return parseJson(bytes);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'it cannot be read';
    throw new CliError('cli.invalid_usage', `The request in ${source} is not JSON: ${why}`, {
      fix: 'Begin with {} and add what is special about the request.',
      cause,
    });
  }
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    const message = `${visibleText(path)} cannot be read.`;
    throw new CliError('cli.invalid_usage', message, { fix: 'Check the path.', cause });
  }
}

type Written = Readonly<Record<string, unknown>>;

function withOptions(written: unknown, options: CommandInput['options']): unknown {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return written;
  const request = written as Written;
  const text = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined);
  const [executable, ...words] = text('command')?.split(' ') ?? [];
  const enforced = {
    ...given('hosts', text('host')?.split(',')),
    ...given('tier', text('tier')),
  };
  const declared = executable === undefined ? {} : { executable, arguments: words };
  return {
    ...request,
    ...given('resource', text('tool') === undefined ? undefined : `tool:${text('tool')}`),
    ...given('principal', text('principal')),
    ...given('workspace', text('workspace')),
    ...merged(request, 'enforced', enforced),
    ...merged(request, 'declared', declared),
  };
}

function given(key: string, value: unknown): Written {
  return value === undefined ? {} : { [key]: value };
}

/** A part that is not an object is left to the schema to refuse. */
function merged(request: Written, key: string, more: Written): Written {
  const own = request[key] ?? {};
  return Object.keys(more).length === 0 || typeof own !== 'object' ? {} : { [key]: { ...own, ...more } };
}

function asJson({ decision, policies, facts, wouldChange }: Explanation): Written {
  return {
    decision: decisionAsJson(decision),
    policies,
    facts: facts.map(({ name, value, origin, readBy }) => ({ name, value: value ?? null, origin, read_by: readBy })),
    would_change: wouldChange.map((change) =>
      change.kind === 'without_forbid'
        ? { kind: change.kind, answer: change.answer, policy_ids: change.policyIds }
        : change,
    ),
  };
}
