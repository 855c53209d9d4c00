/** What the standalone verifier was asked to do. */
export interface VerifierCommand {
  readonly file: string;
  readonly key: string | undefined;
  readonly witnesses: readonly string[];
  /** Files that hold signed notes. */
  readonly checkpointFiles: readonly string[];
  readonly requireWitness: boolean;
  readonly json: boolean;
}

export const VERIFIER_USAGE = `usage: node palyra-verify.mjs FILE --key VKEY [--witness VKEY]... [--checkpoint FILE]...
                              [--require-witness] [--json]
       node palyra-verify.mjs --help

Checks a bundle or an export of a Palyra journal. VKEY is a verifier key, NAME+ID+KEY.

The key must come from elsewhere than the file. Without it, a file is only found to agree with itself.
--json prints what palyra verify --json prints.

exit codes: 0 sound, 2 bad usage or not readable, 3 sound but not established as required, 7 does not verify, 8 no file
`;

/** Undefined for what it does not understand. */
export function parseVerifierCommand(args: readonly string[]): VerifierCommand | 'help' | undefined {
  if (args.includes('--help') || args.includes('-h')) return 'help';
  const values: Record<'--key' | '--witness' | '--checkpoint', string[]> = {
    '--key': [],
    '--witness': [],
    '--checkpoint': [],
  };
  const flags = new Set<string>();
  const files: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string;
    if (arg === '--key' || arg === '--witness' || arg === '--checkpoint') {
      const value = args[at + 1];
      if (value === undefined || value.startsWith('--')) return undefined;
      values[arg].push(value);
      at += 1;
    } else if (arg === '--json' || arg === '--require-witness') flags.add(arg);
    else if (arg.startsWith('--')) return undefined;
    else files.push(arg);
  }
  const [file] = files;
  if (file === undefined || files.length > 1 || values['--key'].length > 1) return undefined;
  return {
    file,
    key: values['--key'][0],
    witnesses: values['--witness'],
    checkpointFiles: values['--checkpoint'],
    requireWitness: flags.has('--require-witness'),
    json: flags.has('--json'),
  };
}
