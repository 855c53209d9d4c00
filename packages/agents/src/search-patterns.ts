const MOST_PATTERN = 256;
const MOST_ALTERNATIVES = 64;
/** Groups, ranges, negations, escapes: what agents do not all read alike. */
const ODD = /[\s\0\\!()|]|\.\./;

/** Names that secrets have; `*` is anything, and each is compared with what a pattern could match. */
const SECRET_NAMES: readonly string[] = [
  '.env',
  ...['local', 'production', 'prod', 'staging', 'development', 'dev', 'test'].map((stage) => `.env.${stage}`),
  ...['env', 'pem', 'key', 'p12', 'pfx', 'jks', 'keystore', 'kdbx'].map((ending) => `*.${ending}`),
  ...['rsa', 'dsa', 'ecdsa', 'ed25519', 'ecdsa_sk', 'ed25519_sk'].map((kind) => `id_${kind}`),
  ...['npmrc', 'pypirc', 'netrc', 'pgpass', 'git-credentials', 'htpasswd', 'dockercfg'].map((name) => `.${name}`),
  '.vault-token',
  '.terraformrc',
  '.s3cfg',
  '.my.cnf',
  '_netrc',
  'kubeconfig',
  '.aws',
  '.ssh',
  '.gnupg',
  '.kube',
  '.docker',
  '.config',
  'credentials',
  'credentials.json',
  'credentials.yml',
  'credentials.yaml',
  'credentials.toml',
  'secrets.json',
  'secrets.yml',
  'secrets.yaml',
  'secrets.toml',
  'service-account.json',
];

/**
 * SECURITY: T-14 — a pattern is a path as well: one that leads elsewhere, or could be meant for a secret, is not a search of
 * the directory that the agent named, and it is not known what it would read.
 */
export function isPlainPattern(pattern: string): boolean {
  if (pattern === '' || pattern.length > MOST_PATTERN || ODD.test(pattern)) return false;
  const alternatives = alternativesOf(pattern.replace(/^(?:\.\/+)+/, ''));
  return alternatives?.every(isPlainAlternative) ?? false;
}

/** Whether it takes every name there is, as a search without a pattern does. */
export function isEverything(pattern: string): boolean {
  return /^(?:\*\*?\/)*\*\*?$/.test(pattern);
}

/** As far as it is the same for all that it could match. */
export function fixedPartOf(pattern: string): string {
  const segments = pattern.split('/');
  const wild = segments.findIndex((segment) => /[*?[{,]/.test(segment));
  return segments.slice(0, wild === -1 ? undefined : wild).join('/');
}

function isPlainAlternative(pattern: string): boolean {
  if (pattern.startsWith('/') || pattern.startsWith('~')) return false;
  return pattern.split('/').every((segment) => {
    if (segment === '' || isEverything(segment)) return true;
    if (segment.startsWith('.')) return false;
    const text = segment.toLowerCase().replaceAll(/\[[^\]]*\]+/g, '?');
    return !/[[\]{}]/.test(text) && !SECRET_NAMES.some((name) => canBeTheSame(text, name));
  });
}

/** `a.{b,c}` and `a,b`: each by itself. Undefined: too many, or not to be told apart. */
function alternativesOf(pattern: string): readonly string[] | undefined {
  let open = [pattern];
  while (open.some((text) => text.includes('{'))) {
    const next = open.flatMap((text) => {
      const [group, inner = ''] = /\{([^{}]*)\}/.exec(text) ?? [];
      return group === undefined ? [text] : inner.split(',').map((part) => text.replace(group, () => part));
    });
    if (next.length > MOST_ALTERNATIVES || next.every((text, at) => text === open[at])) return undefined;
    open = next;
  }
  return open.flatMap((text) => text.split(','));
}

/** Whether there is a name that both match; `*` is any text and `?` any character, in either of them. */
export function canBeTheSame(one: string, other: string): boolean {
  let rests = new Set([0]);
  const closed = (from: ReadonlySet<number>) => {
    const all = new Set(from);
    for (const at of all) if (other[at] === '*') all.add(at + 1);
    return all;
  };
  rests = closed(rests);
  for (const sign of one) {
    const next = new Set<number>();
    for (const at of rests) {
      const its = other[at];
      if (sign === '*') for (let each = at; each <= other.length; each += 1) next.add(each);
      else if (its === '*') next.add(at);
      else if (its !== undefined && (sign === '?' || its === sign)) next.add(at + 1);
    }
    rests = closed(next);
  }
  return rests.has(other.length);
}
