import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The parts of a package.json a release reads. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: string;
  readonly type?: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly exports?: unknown;
  readonly files?: readonly string[];
  readonly workspaces?: readonly string[];
  readonly bundleDependencies?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface WorkspacePackage {
  readonly folder: string;
  readonly manifest: Manifest;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

export function workspacePackages(root: string): WorkspacePackage[] {
  const patterns = readManifest(root).workspaces ?? [];
  return patterns
    .flatMap((pattern) => globSync(`${pattern}/package.json`, { cwd: root }))
    .map((file) => join(root, dirname(file)))
    .toSorted()
    .map((folder) => ({ folder, manifest: readManifest(folder) }));
}

/** What the programs under apps/ need of packages/, directly or not: exactly what a release contains. */
export function shippedPackages(
  all: readonly WorkspacePackage[],
  apps: readonly WorkspacePackage[],
): WorkspacePackage[] {
  const byName = new Map(all.map((each) => [each.manifest.name, each]));
  const shipped = new Set<WorkspacePackage>();
  const add = (each: WorkspacePackage) => {
    if (shipped.has(each)) return;
    shipped.add(each);
    for (const name of Object.keys(each.manifest.dependencies ?? {})) {
      const needed = byName.get(name);
      if (needed !== undefined) add(needed);
    }
  };
  for (const app of apps) add(app);
  return [...shipped].toSorted((a, b) => (a.manifest.name < b.manifest.name ? -1 : 1));
}
