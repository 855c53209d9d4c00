import { EXIT_CODES, type ExitCode } from '@palyra/agents/exits';
import type { CommandDefinition } from '../command.ts';
import { renderVerdict, type Verdict, verdictAsJson, verdictOf } from '../render/verdict.ts';
import { keepState, readVerifyOptions, refuseUselessState } from '../verify-options.ts';
import { verifyTarget } from '../verify-target.ts';

/** The record, checked by whoever wants to; the answer is also the exit code. */
export const verify: CommandDefinition = {
  name: 'verify',
  group: 'Journal',
  summary: 'Verify a home, an export or a bundle, offline',
  details:
    'Finds the first bad entry, and says which of three it established: agrees with itself, signed by the pinned key, ' +
    'witnessed. Exits with 0 when sound, 7 when broken, cut off or of another key, 3 when --require-witness was not ' +
    'met, 8 when nothing is there, 2 for bad input. Changes nothing; palyrad need not run.',
  arguments: [{ name: 'TARGET', summary: 'A home or a file; - is stdin; else the home in use', isRequired: false }],
  options: [
    { flags: '--key <VKEY>', summary: "The log's root key as you know it, or a file with it" },
    { flags: '--witness <VKEY>', summary: 'A witness you trust; may be given again', isRepeatable: true },
    { flags: '--checkpoint <FILE>', summary: 'A checkpoint you kept; may be given again', isRepeatable: true },
    { flags: '--require-witness', summary: 'Fail unless a given witness saw it' },
    { flags: '--state <FILE>', summary: 'Go on where the last time ended; no bundles' },
  ],
  async run({ arguments: [typed], options }, context) {
    const input = await readVerifyOptions(options, context);
    const verified = await verifyTarget(typed, input, context);
    refuseUselessState(verified, options['state']);
    keepState(verified, options['state'], context);
    const verdict = await verdictOf(verified, input.pins);
    const isRequired = options['requireWitness'] === true;
    return {
      json: verdictAsJson(verdict),
      render: (paint) => renderVerdict(verdict, paint, { isRequired }),
      exitCode: exitCodeOf(verdict, { isRequired }),
    };
  },
};

function exitCodeOf(verdict: Verdict, { isRequired }: { readonly isRequired: boolean }): ExitCode {
  if (verdict.kind === 'broken') return EXIT_CODES.conflict;
  return isRequired && verdict.established.level !== 'witnessed' ? EXIT_CODES.denied : EXIT_CODES.done;
}
