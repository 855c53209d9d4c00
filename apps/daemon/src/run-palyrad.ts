import { resolve } from 'node:path';
import {
  defaultHome,
  type EnvironmentVariables,
  ensureHome,
  homeLayout,
  loadConfig,
  readEnvironment,
} from '@palyra/config';
import { AppError, createLogger, visibleText } from '@palyra/primitives';
import { type DaemonArguments, readArguments, USAGE } from './read-arguments.ts';
import type { PalyradOptions } from './start-palyrad.ts';

/** What the process gives to the program. */
export interface DaemonProcess {
  readonly argv: readonly string[];
  readonly variables: EnvironmentVariables;
  readonly version: string;
  userHome(): string;
  print(text: string): void;
  complain(text: string): void;
  /** Resolves when nobody holds the other end of standard input any more. */
  inputEnds(): Promise<void>;
  /** Aborted by the first signal to end. */
  readonly signal: AbortSignal;
}

/** Resolves to the exit code when palyrad has ended. */
export async function runPalyrad(daemon: DaemonProcess): Promise<number> {
  try {
    return await run(daemon);
  } catch (error) {
    const { code, message, fix } = error instanceof AppError ? error : faultOf(error);
    daemon.complain(`error[${code}]: ${visibleText(message)}\n`);
    if (fix !== undefined) daemon.complain(`fix: ${visibleText(fix)}\n`);
    return EXIT_CODES[code] ?? 1;
  }
}

/** The same numbers as the command line has. */
const EXIT_CODES: Readonly<Record<string, number>> = {
  'daemon.invalid_arguments': 2,
  'daemon.public_bind': 2,
  'config.invalid_value': 2,
  'config.unknown_key': 2,
  'sandbox.launcher_missing': 5,
  'service.not_root': 3,
  'storage.locked': 7,
  'identity.not_initialised': 8,
};

async function run(daemon: DaemonProcess): Promise<number> {
  const asked = readArguments(daemon.argv);
  if (asked.kind === 'help') daemon.print(USAGE);
  if (asked.kind === 'version') daemon.print(`${daemon.version}\n`);
  if (asked.kind !== 'run') return 0;

  const { lost, ...place } = await placeFor(asked, daemon);
  // Late: who mistyped an argument need not wait for all of it.
  const { startPalyrad } = await import('./start-palyrad.ts');
  if (asked.waits) await daemon.inputEnds();
  ensureHome(place.home);
  const { config } = loadConfig({ home: place.home, environment: readEnvironment(daemon.variables) });
  const palyrad = await startPalyrad({ ...place, config, version: daemon.version, idleExit: asked.idleExit });
  // Without tools, and without a way back to them: whoever keeps it running starts it anew.
  void lost?.then(() => palyrad.stop({ now: true })).catch(() => undefined);
  const stop = () => void palyrad.stop({}).catch(() => undefined);
  if (daemon.signal.aborted) stop();
  else daemon.signal.addEventListener('abort', stop, { once: true });
  await palyrad.ended;
  return 0;
}

interface Place extends Pick<PalyradOptions, 'home' | 'operator' | 'sandbox'> {
  readonly lost?: Promise<unknown>;
}

type RunArguments = Extract<DaemonArguments, { readonly kind: 'run' }>;

/** Whose it is, and where. A service gives up root here, before anything is opened. */
async function placeFor({ home: typed, service }: RunArguments, daemon: DaemonProcess): Promise<Place> {
  const path = daemon.variables['PATH'] ?? '';
  if (service !== undefined) {
    const { startService } = await import('./service/start-service.ts');
    return startService({ ...service, path, logger: createLogger() });
  }
  const chosen = typed === undefined ? readEnvironment(daemon.variables).home : resolve(typed);
  const home = homeLayout(chosen ?? defaultHome(daemon.userHome()));
  const variables = Object.entries(daemon.variables).filter(
    // What Node compiles into for us is not for a Node that a tool starts.
    (entry): entry is [string, string] => entry[1] !== undefined && entry[0] !== 'NODE_COMPILE_CACHE',
  );
  const environment = Object.fromEntries(variables);
  return { home, operator: { path, home: daemon.userHome(), palyraHome: home.root, environment } };
}

function faultOf(error: unknown): Pick<AppError, 'code' | 'message' | 'fix'> {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : 'Something went wrong.';
  return { code: 'daemon.fault', message, fix: undefined };
}
