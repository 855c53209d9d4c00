import { isGenerated, manifestsOf, type Repository } from './repository.ts';

const ARCHITECTURE = 'ARCHITECTURE.md';
const MAX_ARCHITECTURE_LINES = 200;
const DEPENDENCIES = 'docs/dependencies.md';
const ADR_SECTIONS = ['Context', 'Decision', 'Consequences', 'Alternatives considered'];
const ADR_STATUS = /^Status: (?:proposed|accepted|rejected|superseded by ADR \d{4}) · Date: \d{4}-\d{2}-\d{2}$/m;
const EXACT = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
/** Written in parts, or this file would be the first to name them. */
const REGISTRY_HOSTS = [['registry', 'npmjs', 'org'].join('.'), ['registry', 'yarnpkg', 'com'].join('.')];

export function checkArchitecturePage(repository: Repository): string[] {
  if (!repository.files.includes(ARCHITECTURE)) return [`${ARCHITECTURE}: is missing`];
  const lines = repository.read(ARCHITECTURE).trimEnd().split('\n').length;
  return lines > MAX_ARCHITECTURE_LINES ? [`${ARCHITECTURE}: ${lines} lines, at most ${MAX_ARCHITECTURE_LINES}`] : [];
}

/** Decisions are numbered without gaps and have one form, so that a reader finds the same thing in the same place. */
export function checkDecisionRecords(repository: Repository): string[] {
  const paths = repository.files.filter((path) => path.startsWith('docs/adr/') && !path.endsWith('/README.md'));
  return paths.flatMap((path, index) => {
    const number = String(index + 1).padStart(4, '0');
    if (!new RegExp(`^docs/adr/${number}-[a-z0-9-]+\\.md$`).test(path)) return [`${path}: should be number ${number}`];
    return checkRecord(path, number, repository.read(path));
  });
}

function checkRecord(path: string, number: string, text: string): string[] {
  const faults: string[] = [];
  if (!text.startsWith(`# ADR ${number}: `)) faults.push(`${path}: begins with "# ADR ${number}: …"`);
  if (!ADR_STATUS.test(text)) faults.push(`${path}: needs a line "Status: accepted · Date: YYYY-MM-DD"`);
  const sections = [...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
  if (sections.join() !== ADR_SECTIONS.join()) faults.push(`${path}: has the sections ${ADR_SECTIONS.join(', ')}`);
  return faults;
}

/** Whatever the product needs at run time has a line that says why, and no line outlives its dependency. */
export function checkDependencyLines(repository: Repository): string[] {
  if (!repository.files.includes(DEPENDENCIES)) return [`${DEPENDENCIES}: is missing`];
  const described = new Set([...repository.read(DEPENDENCIES).matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name));
  const manifests = manifestsOf(repository);
  const declared = new Set(manifests.flatMap((manifest) => Object.keys(allDependencies(manifest))));
  const undescribed = manifests.flatMap(({ path, dependencies, optionalDependencies }) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !name.startsWith('@palyra/') && !described.has(name))
      .map((name) => `${path}: ${name} has no line in ${DEPENDENCIES}`),
  );
  const stale = [...described].filter((name) => name !== undefined && !declared.has(name));
  return [...undescribed, ...stale.map((name) => `${DEPENDENCIES}: nobody depends on ${name}`)];
}

export function checkPinnedVersions(repository: Repository): string[] {
  return manifestsOf(repository).flatMap((manifest) =>
    Object.entries(allDependencies(manifest))
      .filter(([, version]) => !EXACT.test(version))
      .map(([name, version]) => `${manifest.path}: ${name} is ${version}, not an exact version`),
  );
}

/** A clone installs from whatever registry its owner uses; a host name in the lockfile would overrule that. */
export function checkRegistryHosts(repository: Repository): string[] {
  const text = repository.files.filter((path) => !isGenerated(path) && !/\.(?:png|ico|woff2|wasm)$/.test(path));
  return text.flatMap((path) => {
    const content = repository.read(path);
    const hosts = REGISTRY_HOSTS.filter((host) => content.includes(host)).map((host) => `${path}: names ${host}`);
    const isResolved = path.endsWith('package-lock.json') && /"resolved": "https?:/.test(content);
    return isResolved ? [...hosts, `${path}: holds download addresses`] : hosts;
  });
}

function allDependencies(manifest: ReturnType<typeof manifestsOf>[number]): Record<string, string> {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies } = manifest;
  return { ...peerDependencies, ...devDependencies, ...optionalDependencies, ...dependencies };
}
