import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connect } from '@palyra/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

let palyrad: PalyradProcess;
let workspace: string;
beforeAll(async () => {
  palyrad = await startPalyrad();
  declareLongLived(palyrad.child.pid ?? 0);
  workspace = join(palyrad.root, 'project');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'README.md'), 'hello\n');
  using operator = await connect({ home: palyrad.home.root, as: 'operator' });
  await operator.workspaces.add(workspace);
});
afterAll(() => palyrad[Symbol.asyncDispose]());

/** As somebody in the workspace would run it. Throws when it does not exit with 0. */
async function run(program: string, ...words: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], PALYRA_HOME: palyrad.home.root };
  const { stdout } = await promisify(execFile)(program, words, { cwd: workspace, env });
  return stdout;
}

const runExample = (path: string) => run(process.execPath, '--conditions=palyra-source', join(ROOT, path));

function linesOf(output: string): unknown[] {
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

describe('the examples', () => {
  test('agent-loop has at most 30 lines', async () => {
    const source = readFileSync(join(ROOT, 'examples/agent-loop/agent.ts'), 'utf8');
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
    const output = await runExample('examples/agent-loop/agent.ts');
    expect(output).toMatch(/palyra\.fs\.list: allow → completed, receipt \d+\n.*README\.md/);
    expect(output).toMatch(/palyra\.process\.run: allow → completed, receipt \d+\n1 README\.md/);
    expect(output).toMatch(/palyra\.fs\.read: \w+ → refused, receipt \d+/);
  });

  test('openai-tools, with chat completions', async () => {
    const [asked, message, lines, refused, answer] = linesOf(await runExample('examples/openai-tools/chat.ts'));
    expect(asked).toMatchObject({ role: 'user' });
    expect(message).toMatchObject({ role: 'assistant', tool_calls: [{ id: 'call_1' }, { id: 'call_2' }] });
    expect(lines).toMatchObject({
      role: 'tool',
      tool_call_id: 'call_1',
      content: expect.stringContaining('1 README.md'),
    });
    expect(refused).toMatchObject({ tool_call_id: 'call_2', content: expect.stringContaining('"outcome":"refused"') });
    expect(answer).toMatchObject({ role: 'assistant', content: expect.stringContaining('one line') });
  });

  test('openai-tools, with responses', async () => {
    const items = linesOf(await runExample('examples/openai-tools/responses.ts'));
    expect(items).toMatchObject([
      { role: 'user' },
      { type: 'function_call', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_1', output: expect.stringContaining('1 README.md') },
      { type: 'message' },
    ]);
  });

  test('anthropic-tools', async () => {
    const messages = linesOf(await runExample('examples/anthropic-tools/messages.ts'));
    expect(messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: false,
            content: expect.stringContaining('1 README.md'),
          },
          { type: 'tool_result', tool_use_id: 'toolu_2', is_error: true, content: expect.stringContaining('refused') },
        ],
      },
      { role: 'assistant' },
    ]);
  });

  test('curl, as its page stands', async () => {
    const script = codeOf(join(ROOT, 'examples/curl/README.md'), 'sh');
    const output = await run('bash', '-euo', 'pipefail', '-c', script);
    expect(output).toContain('"name":"palyra.fs.read"');
    expect(output).toMatch(/run [0-9A-Z]{26}\n/);
    // Asked twice, run once.
    const stdout = Buffer.from('1 README.md\n').toString('base64');
    const [first, second] = output.match(/\{"result":.*?\}\}(?=\{)/g) ?? [];
    expect(first).toContain(`"stdout":"${stdout}"`);
    expect(second).toBe(first);
    expect(output).toContain('OUTCOME_KIND_REFUSED');
    expect(output).toContain('gateway.run_not_found');
    expect(output).toContain('there is no such run');
  });
});

test('the quick start of the SDK runs as it stands, in 20 lines', async () => {
  const code = codeOf(join(ROOT, 'packages/client/README.md'), 'ts');
  expect(code.trim().split('\n').length).toBeLessThanOrEqual(20);
  const directory = join(ROOT, '.cache');
  mkdirSync(directory, { recursive: true });
  // Where the packages of this checkout are found.
  const file = join(directory, `quick-start-${process.pid}.ts`);
  writeFileSync(file, code);
  try {
    const output = await run(process.execPath, '--conditions=palyra-source', file);
    expect(output).toMatch(/^git version \d/);
    expect(output).toMatch(/\w+ refused [0-9A-Z]{26}/);
    expect(output).toContain('palyra.process.run');
  } finally {
    rmSync(file);
  }
});

/** All blocks of one language of a page, in order. */
function codeOf(path: string, language: string): string {
  const blocks = readFileSync(path, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'));
  return [...blocks].map(([, code]) => code).join('\n');
}
