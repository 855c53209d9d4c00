import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { type Importable, LAYERS, ONLY_HERE, type PackageName } from '../../tools/layers.ts';
import {
  isBesideTheProduct,
  isSource,
  type Manifest,
  manifestsOf,
  type Repository,
  workspaceOf,
  workspacesOf,
} from './repository.ts';
import { scanImports } from './scan-imports.ts';

const SCOPE = '@palyra/';

/** Sentences about everything that breaks the table of `tools/layers.ts`; empty when nothing does. */
export function checkImports(repository: Repository): string[] {
  return [
    ...checkDirectories(repository),
    ...manifestsOf(repository).flatMap((manifest) => checkManifest(manifest)),
    ...repository.files.filter(isSource).flatMap((path) => checkSource(repository, path)),
  ];
}

function checkDirectories(repository: Repository): string[] {
  return workspacesOf(repository)
    .filter((directory) => packageAt(directory) === undefined)
    .map((directory) => `${directory}: is not in tools/layers.ts`);
}

function checkManifest(manifest: Manifest): string[] {
  const importer = packageAt(posix.dirname(manifest.path));
  if (importer === undefined) return [];
  // Development dependencies are for the package's own tests, which may use testkit.
  const needed = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies };
  return Object.keys(needed)
    .filter((name) => name.startsWith(SCOPE) && !mayImport(importer, name))
    .map((name) => `${manifest.path}: ${importer} may not depend on ${name}`);
}

function checkSource(repository: Repository, path: string): string[] {
  return scanImports(repository.read(path)).flatMap(({ specifier, line }) => {
    const fault = checkSpecifier(repository, path, specifier);
    return fault === undefined ? [] : [`${path}:${line}: ${fault}`];
  });
}

function checkSpecifier(repository: Repository, path: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return checkRelative(path, specifier);
  if (specifier.startsWith(SCOPE)) return checkPackage(repository, path, specifier);
  return checkOnlyHere(path, withNodePrefix(specifier));
}

function checkRelative(path: string, specifier: string): string | undefined {
  const home = workspaceOf(path);
  const target = posix.join(posix.dirname(path), specifier);
  if (home === undefined || target.startsWith(`${home}/`)) return undefined;
  return `${specifier} leaves ${home}; import the package by its name`;
}

function checkPackage(repository: Repository, path: string, specifier: string): string | undefined {
  const imported = packageNamed(specifier);
  if (imported === undefined) return `${specifier} is not in tools/layers.ts`;
  if (!repository.files.includes(`${LAYERS[imported].directory}/package.json`)) return `${specifier} does not exist`;

  const importer = packageAt(workspaceOf(path) ?? '');
  if (importer === undefined || importer === imported) return undefined;
  // Tests may reach for anything their package could, and for testkit; the table holds for them otherwise.
  if (imported === 'testkit') return checkOnlyHere(path, specifier);
  return mayImport(importer, specifier) ? undefined : `${importer} may not import ${specifier}`;
}

function checkOnlyHere(path: string, specifier: string): string | undefined {
  if (isBesideTheProduct(path)) return undefined;
  const importer = packageAt(workspaceOf(path) ?? '');
  const broken = ONLY_HERE.find(
    ({ modules, packages }) =>
      modules.some((pattern) => matches(pattern, specifier)) && !packages.some((name) => name === importer),
  );
  if (broken === undefined) return undefined;
  const where = broken.packages.length > 0 ? `belongs to ${broken.packages.join(', ')}` : 'is for tests';
  return `${specifier} ${where}: ${broken.why}`;
}

function mayImport(importer: PackageName, specifier: string): boolean {
  const entry = specifier.slice(SCOPE.length);
  return LAYERS[importer].mayImport.some((allowed) => allows(allowed, entry));
}

/** A whole package includes its entry points; one entry point is just that. */
function allows(allowed: Importable, entry: string): boolean {
  return entry === allowed || (!allowed.includes('/') && entry.startsWith(`${allowed}/`));
}

function matches(pattern: string, specifier: string): boolean {
  return pattern.endsWith('/*') ? specifier.startsWith(pattern.slice(0, -1)) : specifier === pattern;
}

function withNodePrefix(specifier: string): string {
  return builtinModules.includes(specifier) && !specifier.startsWith('node:') ? `node:${specifier}` : specifier;
}

function packageNamed(specifier: string): PackageName | undefined {
  const name = specifier.slice(SCOPE.length).split('/')[0];
  return packageNames().find((candidate) => candidate === name);
}

function packageAt(directory: string): PackageName | undefined {
  return packageNames().find((name) => LAYERS[name].directory === directory);
}

function packageNames(): PackageName[] {
  return Object.keys(LAYERS) as PackageName[];
}
