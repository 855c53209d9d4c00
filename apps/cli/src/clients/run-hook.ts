import { spawn } from 'node:child_process';

export interface HookAnswer {
  /** -1: it was killed. */
  readonly code: number;
  readonly stderr: string;
}

/**
 * With a shell, as agents do: the line ends with `|| exit 2`. Undefined when it has not answered by the time it is called off:
 * nothing of it goes on then.
 */
export async function runHook(command: string, message: string, signal: AbortSignal): Promise<HookAnswer | undefined> {
  // A group of its own: it is the shell's child that waits for palyrad, for as long as a question lives.
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'ignore', 'pipe'], detached: true });
  const answered = Promise.withResolvers<HookAnswer | undefined>();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.once('error', answered.reject).once('close', (code) => answered.resolve({ code: code ?? -1, stderr }));
  child.stdin.on('error', () => undefined).end(message);
  const callOff = () => {
    if (child.pid !== undefined) killGroup(child.pid);
    answered.resolve(undefined);
  };
  if (signal.aborted) callOff();
  else signal.addEventListener('abort', callOff, { once: true });
  try {
    return await answered.promise;
  } finally {
    signal.removeEventListener('abort', callOff);
    child.stderr.destroy();
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // It ended by itself just now.
    if (Object(error).code !== 'ESRCH') throw error;
  }
}
