import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Compiled at set-up or shipped in a release, at the same place; undefined with neither. */
export function findLauncher(): string | undefined {
  return findNative('palyra-launcher');
}

/** What agents run before and after each of their tools. */
export function findHook(): string | undefined {
  return findNative('palyra-hook');
}

/** What tries to get out of a sandbox when `palyra doctor --attack` asks for it. */
export function findAttacker(): string | undefined {
  return findNative('palyra-attacker');
}

function findNative(name: string): string | undefined {
  const place = `${process.platform}-${process.arch}/${name}`;
  const program = fileURLToPath(new URL(`../../native/build/${place}`, import.meta.url));
  return existsSync(program) ? program : undefined;
}
