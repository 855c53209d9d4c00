import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DescService } from '@bufbuild/protobuf';
import { type Client, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { type RunEvent, type RunService, WorkspaceService } from '@palyra/api';
import { homeLayout } from '@palyra/config';
import { clientTlsOptions, credentialDirectory, openCredential } from '@palyra/identity';
import { makeHome } from '../tests/palyrad-process.ts';

/** One server in a process of its own. */
export interface ApiServer {
  /** A client with a connection of its own. */
  client<Service extends DescService>(service: Service, as?: 'operator' | 'local-agent'): Client<Service>;
  /** What the process takes, after it has cleaned up. */
  bytes(): Promise<number>;
  hangUp(): void;
  close(): Promise<void>;
}

const CONFIG = '[limits]\nrequests_per_second = 1000000\nstreams_per_principal = 100000\n\n[log]\nlevel = "error"\n';

/** palyrad with one workspace, and a bare Connect service. */
export async function startServers(directory: string, workspace: string): Promise<[ApiServer, ApiServer]> {
  const home = homeLayout(join(directory, 'home'));
  await makeHome(home);
  await writeFile(home.configFile, CONFIG, { mode: 0o600 });
  await mkdir(workspace, { recursive: true });
  const bare = await startServer('bare', home.root);
  const palyrad = await startServer('palyrad', home.root);
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: workspace });
  return [palyrad, bare];
}

async function startServer(kind: 'palyrad' | 'bare', root: string): Promise<ApiServer> {
  const child = fork(fileURLToPath(new URL('./api-server.ts', import.meta.url)), [kind, root], {
    execArgv: ['--conditions=palyra-source', '--expose-gc'],
  });
  const baseUrl = `https://${String(await answerOf(child))}`;
  const sessions: Http2SessionManager[] = [];
  const hangUp = () => {
    for (const session of sessions.splice(0)) session.abort();
  };
  return {
    client(service, as = 'local-agent') {
      const { tls } = openCredential(credentialDirectory(homeLayout(root).identity, as));
      const sessionManager = new Http2SessionManager(baseUrl, {}, clientTlsOptions(tls));
      sessions.push(sessionManager);
      return createClient(service, createGrpcTransport({ baseUrl, sessionManager }));
    },
    async bytes() {
      child.send('bytes');
      return Number(await answerOf(child));
    },
    hangUp,
    async close() {
      hangUp();
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  try {
    const [answer] = await Promise.race([
      once(child, 'message', { signal: ended.signal }),
      once(child, 'close', { signal: ended.signal }).then(() => {
        throw new Error('The server ended; what it said is above.');
      }),
    ]);
    return answer;
  } finally {
    ended.abort();
  }
}

/** A RunStream that is open. */
export interface BenchStream {
  /** Resolves when the call is attested. */
  call(tool: string, input: string): Promise<void>;
  close(): void;
}

export async function openBenchStream(runs: Client<typeof RunService>): Promise<BenchStream> {
  const gone = new AbortController();
  const said: object[] = [{ case: 'start', value: {} }];
  let wake = Promise.withResolvers<void>();
  const say = (message: object) => {
    said.push(message);
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  async function* requests() {
    for (;;) {
      const message = said.shift();
      if (message === undefined) await wake.promise;
      else yield { message } as never;
    }
  }
  const waiting = new Map<string, (error?: unknown) => void>();
  const began = Promise.withResolvers<void>();
  const hear = ({ callKey, event }: RunEvent) => {
    if (event.case === 'runStarted') began.resolve();
    if (event.case === 'result' && event.value.outcome?.code !== '')
      throw new Error(JSON.stringify(event.value.outcome));
    if (event.case === 'attestation') waiting.get(callKey)?.();
  };
  const read = async () => {
    for await (const { event } of runs.runStream(requests(), { signal: gone.signal }))
      if (event !== undefined) hear(event);
  };
  // Whoever waits is told; when it is closed nobody does.
  read().catch((error: unknown) => {
    began.reject(error);
    for (const failed of waiting.values()) failed(error);
  });
  await began.promise;
  let calls = 0;
  return {
    call(tool, inputJson) {
      const key = String(calls);
      calls += 1;
      const done = new Promise<void>((resolve, reject) => {
        waiting.set(key, (error) => (error === undefined ? resolve() : reject(error)));
      }).finally(() => waiting.delete(key));
      say({ case: 'propose', value: { key, tool, inputJson } });
      return done;
    },
    close: () => gone.abort(),
  };
}
