import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { npmEnvironment } from '../tools/setup/npm-environment.mjs';
import { untilClosed } from './until-closed.ts';

/** `bench/rivals`, with its own lockfile: no part of the workspaces, and nothing of the product sees it. */
const RIVALS = fileURLToPath(new URL('./rivals/', import.meta.url));

let installing: Promise<void> | undefined;

/** Returns where a rival's package lies; all are installed when the first one is asked for. Throws without network. */
export async function rivalPackage(name: string): Promise<string> {
  installing ??= install();
  await installing;
  return `${RIVALS}node_modules/${name}`;
}

async function install(): Promise<void> {
  const { dependencies } = readManifest(`${RIVALS}package.json`);
  const isInstalled = Object.entries(dependencies ?? {}).every(([name, version]) => {
    const manifest = `${RIVALS}node_modules/${name}/package.json`;
    return existsSync(manifest) && readManifest(manifest).version === version;
  });
  if (isInstalled) return;
  console.error('Installing the rivals (about half a gigabyte) in bench/rivals …');
  const [npm = '', ...first] = npmCommand();
  await untilClosed(
    spawn(npm, [...first, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], {
      cwd: RIVALS,
      env: npmEnvironment(process.env),
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
}

/** The npm that started us, else the one in PATH. */
function npmCommand(): readonly string[] {
  const startedBy = process.env['npm_execpath'];
  return startedBy !== undefined && /\.[cm]?js$/.test(startedBy) ? [process.execPath, startedBy] : ['npm'];
}

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
}
