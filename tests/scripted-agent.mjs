// A stand-in for Claude Code: it reads the managed settings of its machine, runs the hook for each tool of its script, and does
// what the hook says, as the real one does. Its script is a JSON file: a list of tools, or of words of its own.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';

const [, , script, outputFile] = process.argv;
const settings = JSON.parse(readFileSync('/etc/claude-code/managed-settings.json', 'utf8'));
const told = [];

function hook(event, tool, input, more = {}) {
  const [{ hooks }] = settings.hooks[event];
  const message = {
    hook_event_name: event,
    session_id: 's',
    cwd: process.cwd(),
    tool_name: tool,
    tool_input: input,
    ...more,
  };
  const ran = spawnSync('sh', ['-c', hooks[0].command], { input: JSON.stringify(message), encoding: 'utf8' });
  return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
}

/** One call of an MCP server, by hand: it stays for as long as its answer takes. */
function overMcp({ command: [program, ...args], call }) {
  const server = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const say = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'scripted', version: '1' };
  say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
  say({ method: 'notifications/initialized' });
  say({ id: 2, method: 'tools/call', params: call });
  return new Promise((resolve) => {
    let text = '';
    server.stdout.setEncoding('utf8').on('data', (piece) => {
      text += piece;
      const answer = text.split('\n').find((line) => line.includes('"id":2'));
      if (answer !== undefined && text.endsWith('\n')) server.stdin.end();
    });
    server.once('close', () => resolve(text));
  });
}

function shell(command) {
  const ran = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
  return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
}

for (const step of JSON.parse(readFileSync(script, 'utf8'))) {
  if (step.say !== undefined) {
    process.stdout.write(step.say);
    continue;
  }
  // What the agent's own program does by itself, without asking anybody.
  if (step.own !== undefined) {
    told.push({ own: step.own, ...shell(step.own) });
    continue;
  }
  if (step.read !== undefined) {
    const path = step.read.replace('~', homedir());
    told.push({ read: step.read, text: existsSync(path) ? readFileSync(path, 'utf8') : null });
    continue;
  }
  if (step.mcp !== undefined) {
    told.push({ stdout: await overMcp(step.mcp) });
    continue;
  }
  const answer = hook('PreToolUse', step.tool, step.input);
  if (answer.code !== 0) {
    told.push({ tool: step.tool, refused: answer.stderr });
    continue;
  }
  const { updatedInput = step.input } = answer.stdout === '' ? {} : JSON.parse(answer.stdout).hookSpecificOutput;
  const done = act(step.tool, updatedInput);
  told.push({ tool: step.tool, command: updatedInput.command, ...done });
  hook('PostToolUse', step.tool, step.input, { tool_response: done });
}
writeFileSync(outputFile, JSON.stringify(told, null, 2));
process.exit(7);

function act(tool, input) {
  if (tool === 'Bash') return shell(input.command);
  if (tool === 'Write') {
    try {
      writeFileSync(input.file_path, input.content);
      return { code: 0 };
    } catch (error) {
      return { code: 1, stderr: String(error) };
    }
  }
  return { code: 0 };
}
