import type { ChildProcess } from 'node:child_process';

/** Until the process is gone and its output is read. Throws what it said when it did not succeed. */
export function untilClosed(child: ChildProcess): Promise<void> {
  const said: Buffer[] = [];
  child.stdout?.resume();
  child.stderr?.on('data', (bytes: Buffer) => said.push(bytes));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else
        reject(
          new Error(`It ended with ${code ?? signal}: ${Buffer.concat(said).toString('utf8').trim().slice(0, 500)}`),
        );
    });
  });
}
