import type { Manifest, WorkspacePackage } from './workspace.ts';

const SOURCE_CONDITION = 'palyra-source';

export interface ReleaseParts {
  /** apps/cli: its name, version and bin are the release's. */
  readonly cli: WorkspacePackage;
  /** The workspace packages carried inside. */
  readonly bundled: readonly WorkspacePackage[];
  /** The pinned Node, from the workspace's own package.json. */
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** The package.json of the one package we release. */
export function releaseManifest({ cli, bundled, optionalDependencies }: ReleaseParts): Manifest {
  const { name, version, description, license, type, bin, engines } = cli.manifest;
  const ours = bundled.map((each) => each.manifest.name);
  const carried = Object.fromEntries(bundled.map((each) => [each.manifest.name, each.manifest.version]));
  const thirdParty = thirdPartyDependencies([cli, ...bundled], new Set(ours));
  return defined({
    name,
    version,
    description,
    license,
    type,
    engines,
    bin,
    // Listed and bundled: npm then takes ours from the tarball and never asks a registry, where the names are nobody's.
    dependencies: sorted({ ...carried, ...thirdParty }),
    bundleDependencies: ours,
    optionalDependencies: sorted(optionalDependencies),
  });
}

/** The package.json of a workspace package inside the release: what Node needs to resolve it, and nothing to install. */
export function bundledManifest({ name, version, license, type, exports }: Manifest): Manifest {
  return defined({ name, version, license, type, exports: withoutSources(exports) });
}

function thirdPartyDependencies(parts: readonly WorkspacePackage[], ours: ReadonlySet<string>) {
  const chosen = new Map<string, { readonly version: string; readonly by: string }>();
  for (const { manifest } of parts) {
    for (const [name, version] of Object.entries(manifest.dependencies ?? {})) {
      if (ours.has(name)) continue;
      const before = chosen.get(name);
      if (before !== undefined && before.version !== version) {
        throw new Error(
          `${before.by} needs ${name} ${before.version} and ${manifest.name} needs ${version}: choose one`,
        );
      }
      if (!/^\d+\.\d+\.\d+/.test(version)) throw new Error(`${manifest.name} does not pin ${name}: ${version}`);
      chosen.set(name, { version, by: manifest.name });
    }
  }
  return Object.fromEntries([...chosen].map(([name, { version }]) => [name, version]));
}

function withoutSources(exports: unknown): unknown {
  if (typeof exports !== 'object' || exports === null) return exports;
  const kept = Object.entries(exports).filter(([condition]) => condition !== SOURCE_CONDITION);
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutSources(value)]));
}

function sorted<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Without the fields that have no value, which JSON would drop anyway. */
function defined(fields: { readonly [Field in keyof Manifest]: Manifest[Field] | undefined }): Manifest {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as unknown as Manifest;
}
