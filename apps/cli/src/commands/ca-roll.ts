import { authorityOutput } from '../authority-output.ts';
import type { CommandDefinition } from '../command.ts';
import { confirm } from '../confirm.ts';
import { asOperator } from '../identity-home.ts';
import { renewLocal } from '../renew-local.ts';

/** From one certificate authority to the next; palyrad takes the steps that follow when they are due. */
export const caRoll: CommandDefinition = {
  name: 'ca roll',
  group: 'Identity',
  summary: 'Change to another certificate authority',
  details:
    'Makes the next authority now, though the present one has time left; if that was done, takes the step that is due. ' +
    'The next one is told to devices that renew; two weeks later it signs and the old key is destroyed; two weeks ' +
    'after that the old one is forgotten. Nobody is shut out. With --urgent, for a key that others may have, it is all ' +
    'done at once: every device but the two of this home is paired anew, or renewed with its request. Needs admin.',
  options: [
    { flags: '--urgent', summary: 'Trust nothing of before, from now on' },
    { flags: '--yes', summary: 'Do not ask; only --urgent asks' },
  ],
  async run({ options }, context) {
    return asOperator(context, 'admin', async (found) => {
      const { home, identity, registry, operator, warnings } = found;
      const isUrgent = options['urgent'] === true;
      const explanation =
        'The present authority will count for nothing: every other device is shut out until it is paired or renewed here.';
      if (isUrgent) await confirm({ explanation, isGiven: options['yes'] === true }, context);
      const step = await identity.rollOver(home.identity, {
        isUrgent,
        isWanted: true,
        taken: (taken) =>
          registry.context.commit({ steps: [] }, [{ kind: 'authority', ...taken, by: operator.principal }]),
      });
      // The two of this home hear of it at once, or after an urgent one they could talk to nobody.
      const renewed = step === 'nothing due' ? [] : await renewLocal(found);
      const output = authorityOutput(identity.openAuthority(home.identity).trusted(), identity);
      return {
        json: { step: step.replace(' ', '_'), ...output.json, renewed },
        render: (paint) => `${SENTENCES[step]}\n\n${output.render(paint)}`,
        warnings,
      };
    });
  },
};

const SENTENCES = {
  prepared: 'The next authority is made.',
  activated: 'The new authority signs from now on; the key of the old one is destroyed.',
  retired: 'The old authority is forgotten.',
  'nothing due': 'Nothing is due yet.',
} as const;
