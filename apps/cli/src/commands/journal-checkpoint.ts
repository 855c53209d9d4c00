import type { CommandDefinition } from '../command.ts';
import { readingJournal } from '../journal-home.ts';
import { wholeNumber } from '../option-values.ts';
import { renderJson } from '../render/json.ts';

/** The head of the log, signed: to be remembered elsewhere, or to be cosigned by a witness. */
export const journalCheckpoint: CommandDefinition = {
  name: 'journal checkpoint',
  group: 'Journal',
  summary: 'Print the signed head of the log, or ask a witness',
  details:
    'Prints the newest checkpoint, a signed note: whoever keeps it can later tell a shorter or another log from this ' +
    'one (palyra verify --checkpoint FILE). With --request or --json it prints what a witness needs to cosign it, ' +
    'with the proof from the size that the witness saw last. palyrad need not run.',
  options: [
    { flags: '--request', summary: 'For a witness: palyra journal cosign' },
    { flags: '--since <SIZE>', summary: 'The size that the witness saw last (0: nothing)' },
  ],
  async run({ options }, context) {
    const since = wholeNumber(options['since'], { name: '--since', from: 0, to: Number.MAX_SAFE_INTEGER });
    return readingJournal(context, async ({ database, log, proofs }, { makeCosignRequest }) => {
      const request = await makeCosignRequest({ read: database.read, log, proofs }, since ?? 0);
      const isRequest = options['request'] === true || since !== undefined;
      return { json: request, render: () => (isRequest ? renderJson(request) : request.note) };
    });
  },
};
