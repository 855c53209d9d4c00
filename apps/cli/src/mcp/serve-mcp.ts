import type { Readable, Writable } from 'node:stream';
import { type CallToolResult, type JSONObject, Server, type ServerContext } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { type Client, createToolNames, type Run, type Tool } from '@palyra/client';
import { describeError, type JsonValue } from '@palyra/primitives';
import { AWAIT_TOOL, type McpCalls, openMcpCalls } from './mcp-calls.ts';

export interface ServeMcpDeps {
  readonly client: Pick<Client, 'tools'>;
  /** With the first call: whoever only looks at the list needs no workspace. */
  startRun(): Promise<Run>;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly version: string;
  /** How long a call waits for a human before it is told as pending. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/** Until the client hangs up. What it has not waited for is cancelled then, and what was asked for it is taken back. */
export async function serveMcp(deps: ServeMcpDeps): Promise<void> {
  const { client, stdin, stdout, version, signal } = deps;
  const tools = await client.tools.list();
  const calls = openMcpCalls({ ...deps, tools });
  const server = new Server({ name: 'palyra', version }, { capabilities: { tools: {} } });
  const names = createToolNames(tools.map(({ name }) => name));
  server.setRequestHandler('tools/list', () => ({
    tools: [...tools.map((tool) => describeTool(tool, names.forModel(tool.name))), AWAIT_TOOL],
  }));
  server.setRequestHandler('tools/call', ({ params }, context) =>
    answer(calls, { name: params.name, input: (params.arguments ?? {}) as JsonValue }, context),
  );
  const gone = Promise.withResolvers<void>();
  stdin.once('end', gone.resolve).once('close', gone.resolve);
  stdout.once('error', () => gone.resolve());
  signal.addEventListener('abort', () => gone.resolve(), { once: true });
  const handle = serveStdio(() => server, { transport: new StdioServerTransport(stdin, stdout) });
  await gone.promise;
  await calls.close();
  await handle.close();
}

function describeTool({ description, input_schema: schema, capabilities, sensitive }: Tool, name: string) {
  const isChanging = sensitive || capabilities.length > 0;
  return {
    name,
    description,
    inputSchema: { ...(schema as JSONObject), type: 'object' as const },
    // For the client's own prompts; whether it may run is decided here.
    annotations: { readOnlyHint: !isChanging, openWorldHint: capabilities.includes('network') },
  };
}

interface Asked {
  readonly name: string;
  readonly input: JsonValue;
}

/** A refusal is an answer that the model can act upon; so is a palyrad that is gone. */
async function answer(calls: McpCalls, asked: Asked, { mcpReq }: ServerContext): Promise<CallToolResult> {
  const { _meta: meta } = mcpReq;
  const token = meta?.progressToken;
  let progress = 0;
  const onProgress = (message: string) => {
    if (token === undefined) return;
    progress += 1;
    const params = { progressToken: token, progress, message };
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
  try {
    return await calls.answer(asked, { signal: mcpReq.signal, onProgress });
  } catch (error) {
    const { code, message, fix } = describeError(error);
    const told = { error: { code, message, ...(fix === undefined ? {} : { fix }) } };
    const text = `error[${code}]: ${message}${fix === undefined ? '' : `\nfix: ${fix}`}`;
    return { content: [{ type: 'text', text }], structuredContent: told, isError: true };
  }
}
