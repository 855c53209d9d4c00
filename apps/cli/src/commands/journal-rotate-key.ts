import { CliError } from '../cli-error.ts';
import type { CommandDefinition } from '../command.ts';
import { CLI_ACTOR, writingJournal } from '../journal-home.ts';

/** A new key in the place of the one in use, certified by the root key. */
export const journalRotateKey: CommandDefinition = {
  name: 'journal rotate-key',
  group: 'Journal',
  summary: 'Replace a signing key of the log',
  details:
    'The log says from which size on the new key counts and up to which the old one did, signed by the root key, which ' +
    'must be in the identity directory of the home. Verifiers that pin the root key need nothing new. palyrad picks ' +
    'the new checkpoint key up by itself.',
  arguments: [{ name: 'ROLE', summary: 'checkpoint or attestation', isRequired: true }],
  async run({ arguments: [role = ''] }, context) {
    if (role !== 'checkpoint' && role !== 'attestation') {
      throw new CliError('cli.invalid_usage', 'A log has a checkpoint key and an attestation key.', {
        fix: 'Write palyra journal rotate-key checkpoint, or attestation.',
      });
    }
    return writingJournal(context, async ({ journal }, { parseActor }) => {
      await journal.rotateKey(parseActor(CLI_ACTOR), role);
      return { json: { rotated: role }, render: () => `The log has a new ${role} key.\n` };
    });
  },
};
