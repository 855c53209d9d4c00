import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { ThreadAnswer, ThreadTask } from './compile-off-loop.ts';
import { PolicyError } from './policy-error.ts';
import { readPolicyDirectory } from './read-policy-directory.ts';

/** Does one task and ends, and with it goes every byte that parsing took. */
const port = parentPort as MessagePort;

async function answerTo(task: ThreadTask): Promise<ThreadAnswer> {
  try {
    if (task.kind === 'read') return { kind: 'read', sourceDigest: readPolicyDirectory(task.directory).sourceDigest };
    // Late, because whoever only looks needs no Cedar.
    if (task.kind === 'diff' || task.kind === 'explain') {
      const { diffDirectory, explainWritten } = await import('./ask-policies.ts');
      if (task.kind === 'diff') return { kind: 'diff', diff: await diffDirectory(task) };
      return { kind: 'explained', explanation: await explainWritten(task) };
    }
    const { compileDirectory } = await import('./compile-directory.ts');
    return { kind: 'compiled', compiled: await compileDirectory(task) };
  } catch (thrown) {
    // Anything else ends the thread, which the other end takes for a refusal.
    if (!(thrown instanceof PolicyError)) throw thrown;
    const { code, message, fix, problems } = thrown;
    return { kind: 'failed', error: { code, message, fix, problems } };
  }
}

port.postMessage(await answerTo(workerData as ThreadTask));
