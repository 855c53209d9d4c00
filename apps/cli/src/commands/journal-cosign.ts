import { EXIT_CODES } from '@palyra/agents/exits';
import type { CosignOutcome, HomeJournal } from '@palyra/journal';
import { systemClock, visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandDefinition, CommandResult } from '../command.ts';
import { resolvePath } from '../find-home.ts';
import { loadIdentity } from '../identity-home.ts';
import { findJournal, type JournalModule, loadJournal } from '../journal-home.ts';
import { readInputFile } from '../read-input-file.ts';
import { renderJson } from '../render/json.ts';
import { readVkey } from '../verifier-keys.ts';

/** The witness's side: it looks after somebody else's log. */
export const journalCosign: CommandDefinition = {
  name: 'journal cosign',
  group: 'Journal',
  summary: "Witness another home's log",
  details:
    'Remembers the largest checkpoint of each log in DIR and cosigns only what provably continues it. The key of the ' +
    'witness is made in DIR at the first use. Print the answer to a file and give it back: palyra journal cosigned. ' +
    'A home cannot witness its own log. Exits with 7 for a log that does not continue, or a proof from another size.',
  arguments: [{ name: 'REQUEST', summary: 'From palyra journal checkpoint --request; - is stdin', isRequired: true }],
  options: [
    { flags: '--store <DIR>', summary: 'Where this witness keeps its key and its memory' },
    { flags: '--name <NAME>', summary: 'What it is called; chosen at the first use' },
    { flags: '--device', summary: "With the key of this home's operator, not one of its own" },
    { flags: '--key <VKEY>', summary: "The log's root key or a file with it; else believed" },
  ],
  async run({ arguments: [file = ''], options }, context) {
    const { store, name, key } = options;
    if (typeof store !== 'string') {
      throw new CliError('cli.missing_value', 'A witness needs a directory: --store DIR.', {
        fix: 'Give one outside the home, on another device than the log.',
      });
    }
    const { home, place, warnings } = findJournal(context);
    const journal = await loadJournal();
    const request = journal.parseCosignRequest(await readInputFile(file, context));
    const pinned = typeof key === 'string' ? await readVkey(key, context) : undefined;
    const path = resolvePath(store, context);
    const directory =
      options['device'] === true
        ? await deviceWitness(path, home.identity, journal)
        : journal.openWitnessDirectory(path, typeof name === 'string' ? name : undefined);
    await refuseOwnLog({ request, witnessKey: directory.signer.publicKey }, place, journal);
    const witness = journal.createWitness({
      ...directory,
      clock: systemClock,
      ...(pinned === undefined ? {} : { pinnedRootKey: pinned.publicKey }),
    });
    const outcome = await witness.cosign(request);
    return told(outcome, [...warnings, ...(directory.isNew ? [`A new witness: ${directory.vkey}`] : [])]);
  },
};

type WitnessParts = Pick<
  ReturnType<JournalModule['openWitnessDirectory']>,
  'name' | 'signer' | 'store' | 'vkey' | 'isNew'
>;

/** The device itself as the witness: whoever knows its key from the registry knows whose the cosignature is. */
async function deviceWitness(path: string, identityDirectory: string, journal: JournalModule): Promise<WitnessParts> {
  const { checkpointCosigner, openOperatorCredential } = await loadIdentity();
  const { device, key } = openOperatorCredential(identityDirectory);
  const { name, signer } = checkpointCosigner(device, key);
  const vkey = journal.formatVkey({ name, type: 4, publicKey: signer.publicKey }, journal.nodeSha256);
  return { name, signer, vkey, store: journal.createFileWitnessStore(path), isNew: false };
}

async function refuseOwnLog(
  {
    request,
    witnessKey,
  }: { readonly request: ReturnType<JournalModule['parseCosignRequest']>; readonly witnessKey: Uint8Array },
  place: HomeJournal,
  journal: JournalModule,
): Promise<void> {
  const { origin } = journal.parseCheckpoint(request.note).checkpoint;
  const { publicKey: rootKey } = journal.parseVkey(request.root_key, journal.nodeSha256);
  const log = { origin, rootKey, witnessKey };
  const { keyDirectory } = place;
  const reader = await journal.openHomeForReading(place).catch((error: unknown) => {
    // A witness's home need have no journal.
    if (error instanceof journal.JournalError && error.code === 'journal.no_log') return undefined;
    throw error;
  });
  try {
    await journal.refuseOwnLog(log, { read: reader?.database.read, keyDirectory });
  } finally {
    await reader?.close();
  }
}

function told(outcome: CosignOutcome, warnings: readonly string[]): CommandResult {
  switch (outcome.kind) {
    case 'needs proof': {
      const { from } = outcome;
      return {
        json: { format: 'palyra.needs-proof/1', from },
        render: () =>
          `This witness has seen ${from} entries of this log, and the proof begins elsewhere.\n` +
          `Ask for another request: palyra journal checkpoint --since ${from}\n`,
        warnings,
        exitCode: EXIT_CODES.conflict,
      };
    }
    case 'cosigned': {
      const { answer, origin, rootKey } = outcome;
      const first = `${visibleText(origin)} was not known here: its root key was believed as it came. Compare it, or give --key.`;
      return {
        json: answer,
        render: () => renderJson(answer),
        warnings: rootKey === 'first use' ? [...warnings, first] : warnings,
      };
    }
  }
}
