import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '@palyra/primitives/bare';

export interface ProxyProgram {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** What it is read from, for a user who may not go there. */
  readonly readFrom: readonly string[];
}

/** What the sandbox starts as a gate. */
export function proxyProgram(): ProxyProgram {
  const program = fileURLToPath(entryUrl(import.meta.url, './proxy/proxy-program'));
  const sources = program.endsWith('.ts') ? ['--conditions=palyra-source'] : [];
  // SECURITY: T-40 — whoever has its uid may send it signals, and this one opens a debugger to everybody on the machine.
  const flags = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', ...sources];
  // SECURITY: T-19 — nothing of the daemon's environment: a proxy variable there would lead ours elsewhere.
  return {
    argv: [process.execPath, ...flags, program],
    environment: {},
    readFrom: [...new Set([installationOf(program), process.execPath])],
  };
}

/** The directory that holds the program and all that it imports: where the packages are installed, or the checkout. */
export function installationOf(program: string): string {
  const installed = program.indexOf('/node_modules/');
  if (installed >= 0) return program.slice(0, installed + '/node_modules'.length);
  return resolve(dirname(program), UP_TO_CHECKOUT);
}

/** From packages/egress/src/proxy. */
const UP_TO_CHECKOUT = '../../../..';
