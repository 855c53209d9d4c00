import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { npmCommand } from '../tools/setup/npm-command.mjs';
import { npmEnvironment } from '../tools/setup/npm-environment.mjs';
import { untilClosed } from './until-closed.ts';

/** Each with its own lockfile: no part of the workspaces, and nothing of the product sees them. The second is the tests'. */
const PLACES: readonly string[] = ['./rivals/', '../tests/agents/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

const installing = new Map<string, Promise<void>>();

/** Returns where a rival's package lies; all of its place are installed when the first one is asked for. Throws without network. */
export async function rivalPackage(name: string): Promise<string> {
  const place = PLACES.find((each) => name in dependenciesOf(each));
  if (place === undefined) throw new Error(`${name} is no rival that is installed anywhere.`);
  const begun = installing.get(place) ?? install(place);
  installing.set(place, begun);
  await begun;
  return `${place}node_modules/${name}`;
}

async function install(place: string): Promise<void> {
  const isInstalled = Object.entries(dependenciesOf(place)).every(([name, version]) => {
    const manifest = `${place}node_modules/${name}/package.json`;
    return existsSync(manifest) && readManifest(manifest).version === version;
  });
  if (isInstalled) return;
  console.error(`Installing rivals (some hundred megabytes) in ${place} …`);
  const [npm = '', ...first] = npmCommand();
  await untilClosed(
    spawn(npm, [...first, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], {
      cwd: place,
      env: npmEnvironment(process.env),
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
}

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function dependenciesOf(place: string): Readonly<Record<string, string>> {
  return readManifest(`${place}package.json`).dependencies ?? {};
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
}
