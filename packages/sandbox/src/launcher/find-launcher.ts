import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Compiled at set-up or shipped in a release, at the same place; undefined with neither. */
export function findLauncher(): string | undefined {
  const name = `${process.platform}-${process.arch}/palyra-launcher`;
  const program = fileURLToPath(new URL(`../../native/build/${name}`, import.meta.url));
  return existsSync(program) ? program : undefined;
}
