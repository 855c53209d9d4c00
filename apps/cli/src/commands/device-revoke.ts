import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandDefinition } from '../command.ts';
import { confirm } from '../confirm.ts';
import { DEVICE_IDS, deviceAsJson } from '../device-output.ts';
import { asOperator } from '../identity-home.ts';
import { pickById } from '../pick-id.ts';

/** At once, on every node, and for good. */
export const deviceRevoke: CommandDefinition = {
  name: 'device revoke',
  group: 'Identity',
  summary: 'Shut a device out, at once and for good',
  details:
    'Every palyrad that shares the database ends its connections within a second, its tokens fall with it, and nothing ' +
    'that it signed counts any more. There is no way back but to pair it anew with a new key. Needs the role admin.',
  arguments: [{ name: 'DEVICE', summary: 'Its id, or the last 4 or more characters', isRequired: true }],
  options: [
    { flags: '--reason <REASON>', summary: 'lost, compromised, replaced, retired or unspecified' },
    { flags: '--yes', summary: 'Do not ask' },
  ],
  async run({ arguments: [typed = ''], options }, context) {
    return asOperator(context, 'admin', async ({ registry, identity, operator, warnings }) => {
      const reason = identity.REVOCATION_REASONS.find((each) => each === (options['reason'] ?? 'unspecified'));
      if (reason === undefined) {
        throw new CliError('cli.invalid_option', '--reason takes one of a few words.', {
          fix: `Give one of ${identity.REVOCATION_REASONS.join(', ')}.`,
        });
      }
      const { id, name } = pickById(await registry.list(), typed, DEVICE_IDS);
      const isOwn = id === operator.device ? ' It is the credential you are using now.' : '';
      const explanation = `The device ${visibleText(name)} (${id}) will be shut out for good.${isOwn}`;
      await confirm({ explanation, isGiven: options['yes'] === true }, context);
      const device = await registry.revoke({ device: id, reason, by: operator.principal });
      return {
        json: { device: deviceAsJson(device) },
        render: () => `Revoked ${visibleText(name)} (${id}).\n`,
        warnings,
      };
    });
  },
};
