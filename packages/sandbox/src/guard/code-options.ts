/** The options with which a program runs code or another program: data, matched by `codeOption`. */
export interface CodeOptions {
  /** Letters, found anywhere in a cluster: `c` is in `-c`, `-lc` and `-cCODE`. */
  readonly short?: string;
  /** Letters after which the rest of a cluster is a value and no flag. */
  readonly valued?: string;
  /** With the two dashes; every abbreviation counts, and so does `--option=value`. */
  readonly long?: readonly string[];
  /** Complete long options that look like an abbreviation of one in `long`. */
  readonly harmless?: readonly string[];
  /** Whole arguments: `-exec`. */
  readonly words?: readonly string[];
  /** Whatever begins so: `-fplugin`, `@`. */
  readonly starts?: readonly string[];
  /** Whole arguments, by what is in them. */
  readonly matches?: RegExp;
  /** PowerShell's: case does not matter, any abbreviation counts, also after a slash. */
  readonly powershell?: readonly string[];
  /** The first argument is a cluster even without a dash: `tar xIf`. */
  readonly oldStyle?: boolean;
}

/** The first argument that runs code, or undefined. `--` ends nothing here: a file called `-exec` is not worth a hole. */
export function codeOption(args: readonly string[], options: CodeOptions): string | undefined {
  return args.find((argument, index) => {
    const cluster = index === 0 && options.oldStyle === true && !argument.startsWith('-');
    return runsCode(cluster ? `-${argument}` : argument, options, cluster ? '' : (options.valued ?? ''));
  });
}

function runsCode(argument: string, options: CodeOptions, valued: string): boolean {
  if (options.words?.includes(argument) === true) return true;
  if (options.starts?.some((start) => argument.startsWith(start)) === true) return true;
  if (options.matches?.test(argument) === true) return true;
  if (isPowershellOption(argument, options.powershell ?? [])) return true;
  // SECURITY: T-13 — getopt takes any unambiguous beginning of a long option, so every beginning counts.
  if (argument.startsWith('--')) return isLongOption(argument, options);
  return argument.startsWith('-') && clusterHolds(argument.slice(1), options.short ?? '', valued);
}

function isLongOption(argument: string, { long = [], harmless = [] }: CodeOptions): boolean {
  const [name = ''] = argument.split('=', 1);
  if (name.length < 3 || harmless.includes(name)) return false;
  return long.some((option) => option.startsWith(name));
}

/** SECURITY: T-13 — `-lc` and `-cCODE`: a letter counts wherever it stands, until one that takes the rest as value. */
function clusterHolds(cluster: string, short: string, valued: string): boolean {
  for (const letter of cluster) {
    if (short.includes(letter)) return true;
    if (valued.includes(letter)) return false;
  }
  return false;
}

function isPowershellOption(argument: string, names: readonly string[]): boolean {
  const match = /^(?:--?|\/|\u2013|\u2014|\u2015)([a-z]+)/i.exec(argument);
  const name = match?.[1]?.toLowerCase();
  return name !== undefined && names.some((option) => option.startsWith(name));
}
