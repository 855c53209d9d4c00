import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Vitest `globalSetup`. In a process of its own: this one would take the packages from `dist`, if they are there. */
export default function setup(): void {
  const program = fileURLToPath(new URL('./strip-worker-program.ts', import.meta.url));
  const flags = ['--conditions=palyra-source', '--disable-warning=ExperimentalWarning'];
  execFileSync(process.execPath, [...flags, program], { stdio: 'inherit' });
}
